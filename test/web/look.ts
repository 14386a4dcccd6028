/** Pictures that are kept to be looked at, and what an accessibility checker finds. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const FOLDER = fileURLToPath(new URL("../../node_modules/.cache/meridian/pictures", import.meta.url));

/** Keeps `NAME.png`; the folder is in no commit. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  await page.screenshot({ path: join(FOLDER, `${name}.png`) });
}

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** No rule of axe is broken, in light and in dark. */
export async function expectClean(page: Page): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    // Not by a script tag: the page's policy forbids foreign ones.
    const found = (await page.evaluate(
      `(async () => { ${axe.source}; return (await window.axe.run()).violations; })()`,
    )) as Finding[];
    expect(found.map(({ id, nodes }) => `${colorScheme} ${id}: ${nodes[0]?.html ?? ""}`)).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: null });
}
