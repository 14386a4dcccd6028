import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What `tsc` says of a module's text, by the project's own options; imports of the project begin with `../../`. */
export function compile(text: string): string {
  const folder = mkdtempSync(`${root}node_modules/.types-`);
  try {
    writeFileSync(`${folder}/use.ts`, text);
    const options = { extends: "../../tsconfig.json", include: [], files: ["use.ts"] };
    writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(options));
    execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", folder], {
      encoding: "utf8",
    });
    return "";
  } catch (error) {
    return (error as { stdout: string }).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
