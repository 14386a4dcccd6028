import { afterEach, beforeEach, expect, test } from "vitest";
import type pg from "pg";
import type { Processor } from "../../processor/processor.ts";
import {
  dagText,
  eventually,
  makeDatabase,
  makeLog,
  makeProcessor,
  makeWorkplace,
  type Workplace,
} from "./support.ts";

let place: Workplace;
let pool: pg.Pool;
let drop: () => Promise<void>;
const processors: Processor[] = [];

beforeEach(async () => {
  place = makeWorkplace();
  ({ pool, drop } = await makeDatabase());
});
afterEach(async () => {
  await Promise.all(processors.splice(0).map((processor) => processor.stop()));
  await drop();
  place.remove();
});

const processor = (
  ...args: Parameters<typeof makeProcessor> extends [unknown, unknown, ...infer R] ? R : never
) => {
  const made = makeProcessor(place, pool, ...args);
  processors.push(made);
  return made;
};
const versions = async () =>
  (await pool.query("select dag_id, number, version, hash from app.dag_version order by dag_id, number"))
    .rows;
const dagRow = async (id: string) =>
  (await pool.query("select * from app.dag where dag_id = $1", [id])).rows[0];
const fileRow = async (path: string) =>
  (await pool.query("select * from app.dag_file where path = $1", [path])).rows[0];

test("B1: a DAG file becomes a DAG with its first version, code and account", async () => {
  place.write(
    "sales.ts",
    dagText(
      "sales",
      '{ schedule: "0 2 * * *", startDate: "2026-05-01", catchup: true, maxActiveRuns: 3, owner: "ann", tags: ["a", "b"] }',
    ),
  );
  const stored: string[] = [];
  const p = processor({ onStored: (ids) => void stored.push(...ids) });
  expect(await p.pass()).toMatchObject({ files: 1, stored: 1, failed: 0 });
  const row = await dagRow("sales");
  expect(row).toMatchObject({
    file: "sales.ts",
    active: true,
    paused: false,
    catchup: true,
    max_active_runs: 3,
    owner: "ann",
    tags: ["a", "b"],
    timetable: { kind: "cron", cron: "0 2 * * *", zone: "UTC" },
  });
  expect(row.next_due_at).toBeInstanceOf(Date);
  const {
    rows: [version],
  } = await pool.query(
    "select v.*, b.code, b.source_map from app.dag_version v join app.bundle b on b.hash = v.bundle_hash",
  );
  expect(version).toMatchObject({ number: 1, version: row.version, dag_id: "sales" });
  expect(version.graph).toMatchObject({ dagId: "sales", tasks: [{ id: "t" }] });
  expect(version.code).toContain('dag("sales"');
  expect(JSON.parse(version.source_map).sources).toEqual(["sales.ts"]);
  expect(version.lock_hash).toMatch(/^[0-9a-f]{64}$/);
  const { rows: accounts } = await pool.query("select slots from app.account where key = 'runs:sales'");
  expect(accounts).toEqual([{ slots: 3 }]);
  expect(await fileRow("sales.ts")).toMatchObject({ error: null, dag_ids: ["sales"] });
  expect(stored).toEqual(["sales"]);
});

test("B2: an unchanged file is not imported again and writes nothing, by whichever processor", async () => {
  place.write("sales.ts", dagText("sales"));
  expect(await processor().pass()).toMatchObject({ stored: 1 });
  const all = async () =>
    (
      await pool.query(
        "select (select jsonb_agg(d) from app.dag d) as dags, (select jsonb_agg(v) from app.dag_version v) as versions, (select jsonb_agg(jsonb_build_array(f, f.xmin)) from app.dag_file f) as files",
      )
    ).rows[0];
  const before = await all();
  const other = processor();
  expect(await other.pass()).toMatchObject({ files: 1, stored: 0 });
  expect(await other.pass()).toMatchObject({ files: 1, stored: 0 });
  expect(await all()).toEqual(before);
});

test("B2: a change makes a version, a change back takes the old one", async () => {
  const p = processor();
  place.write("sales.ts", dagText("sales", "{}", "() => 1"));
  await p.pass();
  const first = (await dagRow("sales")).version;
  await pool.query("update app.dag set next_due_at = null");
  place.write("sales.ts", dagText("sales", "{}", "() => 22"));
  await p.pass();
  expect((await versions()).map((v) => v.number)).toEqual([1, 2]);
  expect((await dagRow("sales")).version).not.toBe(first);
  expect((await dagRow("sales")).next_due_at).toBeNull();
  place.write("sales.ts", dagText("sales", "{}", "() => 1"));
  await p.pass();
  expect((await versions()).map((v) => v.number)).toEqual([1, 2]);
  expect((await dagRow("sales")).version).toBe(first);
});
