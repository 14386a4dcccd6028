/** Chromium for tests that look at the page: the system's, never a download. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type Browser } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const PLACES = [
  "/usr/bin/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

function findChromium(): string | null {
  const named = process.env["CHROMIUM_PATH"];
  if (named !== undefined && named !== "") return named;
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const onPath = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...PLACES, ...onPath].find((path) => existsSync(path)) ?? null;
}

const CHROMIUM = findChromium();

/** Why browser tests cannot run here, or null. In CI that is an error, not a reason to skip. */
export function whyNoBrowser(): string | null {
  if (CHROMIUM !== null) return null;
  const reason = "no Chromium was found; set CHROMIUM_PATH or install one";
  if (process.env["CI"] === "true") throw new Error(`Browser tests must run in CI: ${reason}`);
  console.warn(`Browser tests are skipped: ${reason}`);
  return reason;
}

export async function openBrowser(): Promise<Browser> {
  if (CHROMIUM === null) throw new Error("no Chromium");
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}
