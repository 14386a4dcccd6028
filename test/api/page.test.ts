import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { testApp } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "meridian-page-"));
const web = join(folder, "dist");
mkdirSync(join(web, "assets"), { recursive: true });
writeFileSync(join(folder, "secret.txt"), "secret");
writeFileSync(join(web, "index.html"), "<!doctype html><title>Meridian</title>");
writeFileSync(join(web, "assets", "app-1a2b.js"), "export {}");
writeFileSync(join(web, "icon.svg"), "<svg/>");
afterAll(() => rmSync(folder, { recursive: true }));
const app = testApp({ webFolder: web });

test.each(["/", "/index.html", "/dags/sales", "/dags/a.b/runs/2026-05-09T00-00-00Z"])(
  "%s is the page, never from a cache",
  async (path) => {
    const response = await app.request(path);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("<title>Meridian</title>");
    expect(response.headers.get("Content-Type")).toMatch(/^text\/html/);
    expect(response.headers.get("Cache-Control")).toBe("no-cache");
  },
);

test("a file named by its hash is kept for ever, others are asked for", async () => {
  const script = await app.request("/assets/app-1a2b.js");
  expect(await script.text()).toBe("export {}");
  expect(script.headers.get("Content-Type")).toMatch(/javascript/);
  expect(script.headers.get("Cache-Control")).toBe("public, max-age=31536000, immutable");
  const icon = await app.request("/icon.svg");
  expect(await icon.text()).toBe("<svg/>");
  expect(icon.headers.get("Cache-Control")).toBe("no-cache");
});

test("a missing asset is missing, not the page", async () => {
  expect((await app.request("/assets/app-old.js")).status).toBe(404);
});

test.each([
  "/../secret.txt",
  "/%2e%2e/secret.txt",
  "/..%2fsecret.txt",
  "/assets/..%5c..%5csecret.txt",
  "/assets/%2e%2e/%2e%2e/secret.txt",
  "/assets/..%2f..%2fsecret.txt",
])("K69: %s leaves the folder closed", async (path) => {
  expect(await (await app.request(path)).text()).not.toContain("secret");
});

test("without a built page, a clear text", async () => {
  for (const webFolder of [null, join(folder, "nowhere")]) {
    const response = await testApp({ webFolder }).request("/");
    expect(response.status).toBe(503);
    expect(await response.text()).toContain("The page is not built");
  }
});
