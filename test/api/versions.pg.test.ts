import { afterAll, beforeAll, expect, test } from "vitest";
import {
  DagDetail,
  DagFile,
  DagFileList,
  VersionDetail,
  VersionDiff,
  VersionList,
} from "../../api/contracts.ts";
import type { SerialGraph } from "../../core/graph.ts";
import { insertBundles } from "../../db/dags/insert-bundles.ts";
import { putInForce } from "../../db/dags/put-in-force.ts";
import { insertDag, insertVersion } from "./rows.ts";
import { serialGraph, serialTask } from "../support/serial.ts";
import { get, problemOf, testApp, type TestApp } from "./support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
let app: TestApp;

/** A version of "sales" with these sources, its own file not the first. */
async function addVersion(
  number: number,
  bundle: string,
  graph: SerialGraph,
  sources: Record<string, string> | null,
): Promise<void> {
  const map =
    sources === null
      ? null
      : JSON.stringify({ version: 3, sources: Object.keys(sources), sourcesContent: Object.values(sources) });
  await database.pool.query(
    "insert into app.bundle (hash, code, source_map) values ($1, '', $2) on conflict do nothing",
    [bundle, map],
  );
  await database.pool.query(
    `insert into app.dag_version (dag_id, number, hash, graph, bundle_hash, file)
     values ('sales', $1::integer, 'h' || $1::integer, $2, $3, 'team/sales.ts')`,
    [number, JSON.stringify(graph), bundle],
  );
}

async function hashOf(dagId: string, number: number): Promise<string> {
  const { rows } = await database.pool.query<{ hash: string }>(
    "select hash from app.dag_version where dag_id = $1 and number = $2",
    [dagId, number],
  );
  return rows[0]!.hash;
}

const long = Array.from({ length: 30 }, (_, i) => `line ${i}`);

beforeAll(async () => {
  database = await createTestDatabase("versions", 4);
  const { pool } = database;
  app = testApp({ db: pool });
  await insertDag(pool, "sales", { file: "team/sales.ts" });
  const first = serialGraph("sales", [
    serialTask("extract"),
    serialTask("load", [0], { inputs: { rows: 0 } }),
  ]);
  await addVersion(2, "code2", first, {
    "lib/gone.ts": "export const gone = 1;\n",
    "lib/rate.ts": `${long.join("\n")}\n`,
    "team/sales.ts": "first();\n",
  });
  const second: SerialGraph = {
    ...serialGraph("sales", [
      serialTask("check"),
      serialTask("extract", [], { retries: 3 }),
      serialTask("load", [0, 1], { inputs: { data: 1 } }),
    ]),
    tags: ["finance"],
    timetable: { kind: "cron", cron: "0 7 * * *", zone: "Europe/Berlin" },
  };
  await addVersion(3, "code3", second, {
    "lib/new.ts": "export const fresh = 1;",
    "lib/rate.ts": `${long.with(15, "LINE 15").join("\n")}\n`,
    "team/sales.ts": "first();\n",
  });
  await addVersion(4, "no map", second, null);
});
afterAll(() => database.drop());

test("B2, K70: versions of a DAG by number, newest first, paged by key while new ones come", async () => {
  const first = await get(app, "/dags/sales/versions?limit=2", VersionList);
  expect(first.versions.map((v) => v.number)).toEqual([4, 3]);
  expect(first.before).toBe(3);
  expect(first.versions[1]).toMatchObject({ hash: "h3", file: "team/sales.ts" });
  await insertVersion(database.pool, "sales", []);
  const second = await get(app, `/dags/sales/versions?limit=2&before=${first.before}`, VersionList);
  expect([second.versions.map((v) => v.number), second.before]).toEqual([[2, 1], null]);
  expect((await get(app, "/dags/sales/versions?before=1", VersionList)).versions).toEqual([]);
});

test("B2: a version with its graph and the TypeScript it was made from, its own file first", async () => {
  const version = await get(app, "/dags/sales/versions/2", VersionDetail);
  expect(version.sources.map((source) => source.path)).toEqual([
    "team/sales.ts",
    "lib/gone.ts",
    "lib/rate.ts",
  ]);
  expect(version.sources[0]!.source).toBe("first();\n");
  expect(version.graph.edges).toEqual([{ from: "extract", to: "load", inputs: ["rows"] }]);
  expect((await get(app, "/dags/sales/versions/4", VersionDetail)).sources).toEqual([]);
});

test("B2: the difference of two versions: options, tasks, edges, and lines of each file", async () => {
  const diff = await get(app, "/dags/sales/versions/2/diff/3", VersionDiff);
  expect([diff.from.number, diff.to.number]).toEqual([2, 3]);
  expect(diff.dag).toEqual([
    { field: "tags", before: [], after: ["finance"] },
    { field: "timetable.cron", before: "0 6 * * *", after: "0 7 * * *" },
  ]);
  expect(diff.tasks).toEqual([
    { id: "check", change: "added", fields: [] },
    { id: "extract", change: "changed", fields: [{ field: "retries", before: 0, after: 3 }] },
  ]);
  expect(diff.edges).toEqual([
    { from: "check", to: "load", change: "added", fields: [] },
    {
      from: "extract",
      to: "load",
      change: "changed",
      fields: [{ field: "inputs", before: ["rows"], after: ["data"] }],
    },
  ]);
  expect(diff.sources.map(({ path, change }) => `${path} ${change}`)).toEqual([
    "lib/gone.ts removed",
    "lib/new.ts added",
    "lib/rate.ts changed",
  ]);
  expect(diff.sources[2]!.hunks).toEqual([
    {
      beforeStart: 13,
      afterStart: 13,
      lines: [" line 12", " line 13", " line 14", "-line 15", "+LINE 15", " line 16", " line 17", " line 18"],
    },
  ]);
  const back = await get(app, "/dags/sales/versions/3/diff/2", VersionDiff);
  expect(back.tasks[0]).toMatchObject({ id: "extract", fields: [{ before: 3, after: 0 }] });
  const none = await get(app, "/dags/sales/versions/3/diff/3", VersionDiff);
  expect({ ...none, from: 0, to: 0 }).toEqual({
    from: 0,
    to: 0,
    dag: [],
    groups: [],
    tasks: [],
    edges: [],
    sources: [],
  });
});

test("B2: a DAG that went back to an older version names it, since when, and what was in force before", async () => {
  const { pool } = database;
  await insertDag(pool, "undone");
  await insertVersion(pool, "undone", []);
  await insertVersion(pool, "undone", [serialTask("other")]);
  const of = async (path: string) => await get(app, `/dags/undone${path}`, DagDetail);
  expect(await of("")).toMatchObject({ version: 3, versionBefore: 2 });
  await putInForce(pool, [{ dag_id: "undone", hash: await hashOf("undone", 2) }]);
  const dag = await of("");
  expect(dag).toMatchObject({ version: 2, versionBefore: 3 });
  const newest = dag.versions[0]!;
  expect(dag.versionSince! > newest.createdAt).toBe(true);
  const list = await get(app, "/dags/undone/versions", VersionList);
  for (const { versions } of [dag, list])
    expect(versions.map(({ number, current }) => [number, current])).toEqual([
      [3, false],
      [2, true],
      [1, false],
    ]);
  const diff = await get(app, "/dags/undone/versions/3/diff/2", VersionDiff);
  expect([diff.from.current, diff.to.current]).toEqual([false, true]);
  expect(await get(app, "/dags/undone/versions/2", VersionDetail)).toMatchObject({ current: true });
});

test("a remark saved later is no version; its sources have its date", async () => {
  const before = await get(app, "/dags/sales/versions/3", VersionDetail);
  expect(before.sourcesAt <= before.createdAt).toBe(true);
  const map = JSON.stringify({ sources: ["team/sales.ts"], sourcesContent: ["first(); // a remark\n"] });
  await insertBundles(database.pool, [{ hash: "code3", code: "", source_map: map }]);
  const after = await get(app, "/dags/sales/versions/3", VersionDetail);
  expect(after.createdAt).toBe(before.createdAt);
  expect(after.sourcesAt > after.createdAt).toBe(true);
  expect((await get(app, "/dags/sales/versions/2/diff/3", VersionDiff)).to.sourcesAt).toBe(after.sourcesAt);
});

test("versions that are not there", async () => {
  const asked = async (path: string) => (await problemOf(await app.request(`/api/v1${path}`), 404)).detail;
  expect(await asked("/dags/nothing/versions")).toBe('dag "nothing" does not exist');
  expect(await asked("/dags/nothing/versions/1")).toBe('dag "nothing" does not exist');
  expect(await asked("/dags/sales/versions/2/diff/99")).toMatch(/has no version 99; the newest is \d/);
  await problemOf(await app.request("/api/v1/dags/sales/versions/x"), 400);
  await problemOf(await app.request("/api/v1/dags/sales/versions?before=0"), 400);
});

test("K62: a DAG whose versions pile up says so, with the likely cause, at the DAG and at its file", async () => {
  const { pool } = database;
  for (const dagId of ["clock", "tool", "calm", "old"]) await insertDag(pool, dagId);
  await pool.query(
    "insert into app.bundle (hash, code) select 'm' || i, '' from generate_series(1, 30) as i",
  );
  const add = (dagId: string, versions: number, bundle: string, at = "app.now()") =>
    pool.query(
      `insert into app.dag_version (dag_id, number, hash, graph, bundle_hash, file, created_at)
       select $1, i + 1, 'x' || i, '{}', ${bundle}, $1 || '.ts', ${at} from generate_series(1, ${versions}) as i`,
      [dagId],
    );
  await add("clock", 25, "'m1'");
  await add("tool", 25, "'m' || i");
  await add("calm", 15, "'m' || i");
  await add("old", 25, "'m' || i", "app.now() - interval '2 hours'");
  await pool.query(
    `insert into app.dag_file (path, checked_at, stored_at, duration_ms, queue_ms, dag_ids) values
       ('a/clock.ts', '2026-05-09T00:00:00Z', '2026-05-08T00:00:00Z', 12, 300, '{clock}'),
       ('b/calm.ts', '2026-05-09T00:00:00Z', null, 7500, null, '{calm}')`,
  );
  const warnings = async (dagId: string) => (await get(app, `/dags/${dagId}`, DagDetail)).warnings;
  expect(await warnings("clock")).toEqual([
    {
      code: "versions_pile_up",
      message: expect.stringMatching(
        /^dag "clock" got 26 versions within the last hour.*the clock/,
      ) as string,
    },
  ]);
  expect(await warnings("tool")).toEqual([
    {
      code: "versions_pile_up",
      message: expect.stringContaining("some tool writes the file anew") as string,
    },
  ]);
  expect([await warnings("calm"), await warnings("old")]).toEqual([[], []]);

  const { files } = await get(app, "/files", DagFileList);
  expect(files[0]).toEqual({
    file: "a/clock.ts",
    dagIds: ["clock"],
    checkedAt: "2026-05-09T00:00:00.000Z",
    storedAt: "2026-05-08T00:00:00.000Z",
    importMs: 12,
    queueMs: 300,
    error: null,
    warnings: await warnings("clock"),
  });
  expect(files[1]).toMatchObject({
    storedAt: null,
    queueMs: null,
    warnings: [{ code: "slow_import", message: expect.stringContaining("took 7.5 s") as string }],
  });
});

test("B1, K68, K70: files by path: pages, search, with and without an error, one by its path", async () => {
  const { pool } = database;
  await pool.query(
    `insert into app.dag_file (path, checked_at, duration_ms, error, dag_ids) values
       ('c/Ünï cödé & co.ts', app.now(), 5, '{"code": "syntax", "message": "unexpected }", "line": 3}', '{stocks}'),
       ('c/d.ts', app.now(), 5, null, '{stocks_2}')`,
  );
  const paths = async (query: string) =>
    (await get(app, `/files${query}`, DagFileList)).files.map((file) => file.file);
  const odd = "c/Ünï cödé & co.ts";
  expect(await paths("")).toEqual(["a/clock.ts", "b/calm.ts", "c/d.ts", odd]);
  const first = await get(app, "/files?limit=3", DagFileList);
  expect([first.total, first.after]).toEqual([4, "c/d.ts"]);
  const last = await get(app, `/files?limit=3&after=${encodeURIComponent(first.after!)}`, DagFileList);
  expect([last.files.map((file) => file.file), last.total, last.after]).toEqual([[odd], 4, null]);
  expect(await paths("?search=STOCKS")).toEqual(["c/d.ts", odd]);
  expect(await paths("?search=a/")).toEqual(["a/clock.ts"]);
  expect(await paths("?search=stocks_2")).toEqual(["c/d.ts"]);
  expect(await paths("?withError=true")).toEqual([odd]);
  expect(await paths("?withError=false&search=c")).toEqual(["a/clock.ts", "b/calm.ts", "c/d.ts"]);
  const one = await get(app, `/files/${encodeURIComponent(odd)}`, DagFile);
  expect(one.error).toMatchObject({
    file: odd,
    code: "syntax",
    line: 3,
    place: { file: odd, line: 3, column: null },
    dagIds: ["stocks"],
  });
  const lost = await problemOf(await app.request("/api/v1/files/nothing.ts"), 404);
  expect(lost.detail).toContain('no DAG file "nothing.ts" is known');
});
