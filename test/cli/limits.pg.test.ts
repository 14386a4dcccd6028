import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve, type ServerType } from "@hono/node-server";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { exitCodeOf } from "../../cli/failure.ts";
import { createProgram } from "../../cli/main.ts";
import { insertDag } from "../api/rows.ts";
import { testApp } from "../api/support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let server: ServerType;
let url: string;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "limits-"));
  database = await createTestDatabase("cli", 6);
  await insertDag(database.pool, "sales_eu");
  const app = testApp({ db: database.pool });
  url = await new Promise((done) => {
    server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, (info: AddressInfo) =>
      done(`http://127.0.0.1:${info.port}`),
    );
  });
});
afterAll(async () => {
  await new Promise<void>((done) => server.close(() => done()));
  await database.drop();
  rmSync(folder, { recursive: true });
});

const file = (text: string): string => {
  const path = join(folder, "limits.yaml");
  writeFileSync(path, text);
  return path;
};

/** What a command of `limits` prints, and its exit code. */
async function limits(...words: readonly string[]): Promise<{ code: number; text: string; error: string }> {
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line = "") => void printed.push(String(line)));
  try {
    const error: unknown = await createProgram()
      .parseAsync(["limits", ...words, "--url", url], { from: "user" })
      .then(
        () => null,
        (e: unknown) => e,
      );
    const code = error === null ? 0 : exitCodeOf(error);
    return { code, text: printed.join("\n"), error: error === null ? "" : (error as Error).message };
  } finally {
    log.mockRestore();
  }
}

test("B12: limits show, plan and apply; plan --exit-code ends with 2 while there is something to change", async () => {
  expect((await limits("show")).text).toBe("# no limits file has been applied yet\n{}");
  const path = file(
    "tenants: { sales: { slots: 4 } }\nrules: [{ dags: 'sales_*', tenant: sales, class: critical }]\n",
  );
  expect((await limits("plan", path)).code).toBe(0);
  const planned = await limits("plan", path, "--exit-code");
  expect(planned.code).toBe(2);
  expect(planned.text.split("\n").map((line) => line.trimEnd())).toEqual([
    "change   what    name      before               after",
    "new      tenant  sales     -                    4 slots",
    "new      rule    1         -                    dags sales_* → tenant sales, critical",
    "changed  dag     sales_eu  no tenant, standard  tenant sales, critical",
    "",
    "another tenant or class: 1 DAGs; 0 runs that wait or run",
    "",
    `apply it with: meridian limits apply ${path} --if-current none`,
  ]);
  const applied = await limits("apply", path, "--if-current", "none");
  expect(applied.code).toBe(0);
  const id = /in force as (\d+)$/.exec(applied.text)![1]!;
  expect(await limits("plan", path, "--exit-code")).toEqual({
    code: 0,
    text: "it is in force as it is",
    error: "",
  });
  expect(await limits("apply", path)).toMatchObject({
    code: 0,
    text: "it is in force as it was; nothing was written",
  });
  expect(await limits("apply", path, "--if-current", "none")).toMatchObject({
    code: 4,
    error: expect.stringContaining("plan again"),
  });
  // What is shown can be applied again.
  const { text } = await limits("show");
  expect(text).toMatch(new RegExp(`^# ${id}, applied by .*@cli at 20`));
  expect((await limits("plan", file(text), "--exit-code")).code).toBe(0);
  expect(JSON.parse((await limits("show", "--output", "json")).text)).toMatchObject({ id: Number(id) });
  const json = JSON.parse((await limits("plan", file("{}"), "--output", "json")).text) as object;
  expect(json).toMatchObject({ current: Number(id), changed: true, dags: 1, runs: 0 });
  expect((await limits("apply", file("{}"), "--if-current", id, "--quiet")).text).toBe("");
});

test("B12: a file that is wrong or away, an id that is none", async () => {
  expect(await limits("plan", file("tenant: {}"))).toMatchObject({
    code: 4,
    error:
      'the limits file has a mistake:\n  line 1, tenant: there is no such key here; did you mean "tenants"?',
  });
  expect(await limits("apply", join(folder, "none.yaml"))).toMatchObject({ code: 2 });
  expect(await limits("apply", file("{}"), "--if-current", "0x1")).toMatchObject({ code: 2 });
});
