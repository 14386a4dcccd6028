import { expect, test } from "vitest";
import { readInForce } from "../../db/read/versions.ts";
import { useRig } from "./rig.ts";
import { dagText } from "./support.ts";

const rig = useRig();

test("B1: a DAG file becomes a DAG with its first version, code and account", async () => {
  const options =
    '{ schedule: "0 2 * * *", startDate: "2026-05-01", catchup: true, maxActiveRuns: 3, owner: "ann", tags: ["a", "b"] }';
  rig.place.write("sales.ts", dagText("sales", options));
  const stored: string[] = [];
  const p = rig.processor({ onStored: (ids) => void stored.push(...ids) });
  expect(await p.pass()).toMatchObject({ files: 1, stored: 1, failed: 0 });
  const row = await rig.dag("sales");
  expect(row).toMatchObject({
    file: "sales.ts",
    active: true,
    paused: false,
    catchup: true,
    max_active_runs: 3,
    owner: "ann",
    tags: ["a", "b"],
    timetable: { kind: "cron", cron: "0 2 * * *", zone: "UTC" },
    start_at: new Date("2026-05-01T00:00:00Z"),
    end_at: null,
  });
  expect(row.next_due_at).toBeInstanceOf(Date);
  const { rows } = await rig.pool.query(
    "select v.*, b.code, b.source_map from app.dag_version v join app.bundle b on b.hash = v.bundle_hash",
  );
  expect(rows[0]).toMatchObject({ number: 1, version: row.version, dag_id: "sales" });
  expect(rows[0].graph).toMatchObject({ dagId: "sales", tasks: [{ id: "t" }] });
  expect(rows[0].code).toContain('dag("sales"');
  expect(JSON.parse(rows[0].source_map).sources).toEqual(["sales.ts"]);
  expect(rows[0].lock_hash).toMatch(/^[0-9a-f]{64}$/);
  const { rows: accounts } = await rig.pool.query("select slots from app.account where key = 'runs:sales'");
  expect(accounts).toEqual([{ slots: 3 }]);
  expect(await rig.file("sales.ts")).toMatchObject({ error: null, dag_ids: ["sales"] });
  expect(stored).toEqual(["sales"]);
});

test("B2: an unchanged file is not imported again and writes nothing, by whichever processor", async () => {
  rig.place.write("sales.ts", dagText("sales"));
  expect(await rig.processor().pass()).toMatchObject({ stored: 1 });
  const all = async () =>
    (
      await rig.pool.query(
        `select (select jsonb_agg(jsonb_build_array(d, d.xmin)) from app.dag d) as dags,
                (select jsonb_agg(jsonb_build_array(v, v.xmin)) from app.dag_version v) as versions,
                (select jsonb_agg(jsonb_build_array(b.hash, b.xmin, b.xmax)) from app.bundle b) as bundles,
                (select jsonb_agg(jsonb_build_array(f, f.xmin)) from app.dag_file f) as files`,
      )
    ).rows[0];
  const before = await all();
  const other = rig.processor();
  expect(await other.pass()).toMatchObject({ files: 1, stored: 0 });
  expect(await other.pass()).toMatchObject({ files: 1, stored: 0 });
  expect(await all()).toEqual(before);
});

test("B2: a change makes a version, a change back takes the old one", async () => {
  const p = rig.processor();
  rig.place.write("sales.ts", dagText("sales", "{}", "() => 1"));
  await p.pass();
  const first = (await rig.dag("sales")).version;
  await rig.pool.query("update app.dag set next_due_at = null");
  rig.place.write("sales.ts", dagText("sales", "{}", "() => 22"));
  await p.pass();
  expect((await rig.versions()).map((v) => v.number)).toEqual([1, 2]);
  const second = await rig.dag("sales");
  expect(second.version).not.toBe(first);
  expect(second.next_due_at, "other code, same dates: the cursor is left alone").toBeNull();
  rig.place.write("sales.ts", dagText("sales", "{}", "() => 1"));
  await p.pass();
  expect((await rig.versions()).map((v) => v.number)).toEqual([1, 2]);
  const undone = await rig.dag("sales");
  expect([undone.version, undone.version_before]).toEqual([first, second.version]);
  expect(await readInForce(rig.pool, "sales")).toEqual({ number: 1, number_before: 2, is_fresh: true });
  rig.place.unlink("sales.ts");
  await p.pass();
  rig.place.write("sales.ts", dagText("sales", "{}", "() => 1"));
  await p.pass();
  expect(await readInForce(rig.pool, "sales"), "it is back").toMatchObject({ number: 1, is_fresh: false });
});

test("F2: a save that changes nothing is told, be it a remark or the same text; a rescan tells nothing", async () => {
  const same: string[] = [];
  const p = rig.processor({ onSame: (path) => void same.push(path) });
  const text = dagText("sales");
  rig.place.write("sales.ts", text);
  await p.pass();
  await p.pass();
  expect(same).toEqual([]);
  rig.place.write("sales.ts", `${text}// A remark.\n`);
  await p.pass();
  rig.place.write("sales.ts", `${text}// A remark.\n`);
  await p.pass();
  expect(same).toEqual(["sales.ts", "sales.ts"]);
  rig.place.write("sales.ts", dagText("sales", "{}", "() => 22"));
  await p.pass();
  rig.place.write("sales.ts", "syntax error: dag(");
  await p.pass();
  rig.place.write("sales.ts", dagText("sales", "{}", "() => 22"));
  await p.pass();
  expect(same, "a change, an error, and its mending are told otherwise").toHaveLength(2);
});

test("B2: other dates make the DAG due at once; a comment changes the map alone", async () => {
  const p = rig.processor();
  rig.place.write("sales.ts", dagText("sales", '{ schedule: "@daily" }'));
  await p.pass();
  await rig.pool.query("update app.dag set next_due_at = null");
  rig.place.write("sales.ts", `// A comment.\n\n${dagText("sales", '{ schedule: "@daily" }')}`);
  await p.pass();
  expect(await rig.versions()).toHaveLength(1);
  expect((await rig.dag("sales")).next_due_at).toBeNull();
  const { rows } = await rig.pool.query("select source_map from app.bundle");
  expect(rows.map((row) => row.source_map)).toEqual([expect.stringContaining("// A comment.")]);
  rig.place.write("sales.ts", dagText("sales", '{ schedule: "@weekly" }'));
  await p.pass();
  expect((await rig.dag("sales")).next_due_at).toBeInstanceOf(Date);
});

test("B1: a broken file shows its error where the author wrote it; its last good version stays", async () => {
  const p = rig.processor();
  rig.place.write("sales.ts", dagText("sales"));
  rig.place.write("lib/rate.ts", "export function rate(a: number): number {\n\n  return a;\n}\n");
  await p.pass();
  const before = await rig.dag("sales");

  rig.place.write("sales.ts", `${dagText("sales")}const = 1;\n`);
  expect(await p.pass()).toMatchObject({ failed: 1 });
  expect(await rig.file("sales.ts")).toMatchObject({
    dag_ids: ["sales"],
    error: { code: "bundle_failed", file: "sales.ts", line: 5 },
  });

  rig.place.write(
    "lib/rate.ts",
    "interface Unused { a: 1 }\n\nexport function rate(a: number): number {\n  throw new RangeError(`no rate of ${a}`);\n}\n",
  );
  rig.place.write("sales.ts", `import { rate } from "./lib/rate.ts";\n${dagText("sales")}rate(3);\n`);
  expect(await p.pass()).toMatchObject({ failed: 1 });
  const { error } = await rig.file("sales.ts");
  expect(error).toMatchObject({ code: "RangeError", message: "no rate of 3", file: "lib/rate.ts", line: 4 });
  expect(error.stack).toContain("sales.ts:6:1");
  expect(error.stack).not.toMatch(/node:internal|processor|\.mjs/);

  rig.place.write(
    "sales.ts",
    'import { dag, task } from "meridian";\ndag("sales", {}, () => {\n  task("a", { retires: 1 }, () => 1);\n});\n',
  );
  await p.pass();
  const refused = await rig.file("sales.ts");
  expect(refused.error).toMatchObject({
    line: 3,
    message: expect.stringContaining('did you mean "retries"?'),
  });

  rig.place.write(
    "sales.ts",
    'import nothing from "no-such-package";\nimport { dag } from "meridian";\ndag(nothing, {}, () => {});\n',
  );
  await p.pass();
  const lost = await rig.file("sales.ts");
  expect(lost.error).toMatchObject({
    message:
      "Cannot find package 'no-such-package' imported from sales.ts:1; install it in the project " +
      "(npm install no-such-package) or correct the name",
    file: "sales.ts",
    line: 1,
  });

  rig.place.write(
    "lib/rate.ts",
    'import {\n  gone,\n} from "@no-such/package/part";\nexport const rate = gone;\n',
  );
  rig.place.write(
    "sales.ts",
    `import { rate } from "./lib/rate.ts";\n${dagText("sales", "{}", "() => rate")}`,
  );
  await p.pass();
  expect((await rig.file("sales.ts")).error).toMatchObject({
    message: expect.stringMatching(
      /'@no-such\/package' imported from lib\/rate\.ts:3;.*npm install @no-such\/package\)/,
    ),
    file: "lib/rate.ts",
    line: 3,
  });

  rig.place.write(
    "sales.ts",
    'import { dag } from "meridian";\ndag("sales", {}, () => {\n  throw new Error("boom");\n});\n',
  );
  await p.pass();
  expect((await rig.file("sales.ts")).error).toMatchObject({
    message: 'dag "sales": boom',
    file: "sales.ts",
    line: 3,
    stack: expect.stringMatching(/^Error: dag "sales": boom\n/),
  });

  expect(await rig.dag("sales")).toEqual(before);
  rig.place.write("sales.ts", dagText("sales"));
  await p.pass();
  expect(await rig.file("sales.ts")).toMatchObject({ error: null });
  expect(await rig.dag("sales")).toEqual(before);
});

test("K63: a DAG renamed in place: the old id becomes inactive, the new one is new", async () => {
  const p = rig.processor();
  rig.place.write("x.ts", dagText("a"));
  await p.pass();
  rig.place.write("x.ts", dagText("b"));
  await p.pass();
  expect(await rig.dag("a")).toMatchObject({ active: false });
  expect(await rig.dag("b")).toMatchObject({ active: true, file: "x.ts" });
  expect((await rig.versions()).map((v) => `${v.dag_id} ${v.number}`)).toEqual(["a 1", "b 1"]);

  await rig.pool.query("update app.dag set next_due_at = null");
  rig.place.write("x.ts", dagText("a"));
  await p.pass();
  expect(await rig.dag("a"), "active again, and looked at at once").toMatchObject({ active: true });
  expect((await rig.dag("a")).next_due_at).toBeInstanceOf(Date);
  expect(await rig.dag("b")).toMatchObject({ active: false });
  expect(await rig.versions()).toHaveLength(2);
});

test("B3: a file that is gone makes its DAGs inactive, one that moved does not", async () => {
  const stored: string[] = [];
  const p = rig.processor({ onStored: (ids) => void stored.push(...ids) });
  rig.place.write("x.ts", dagText("x"));
  rig.place.write("y.ts", dagText("y"));
  await p.pass();
  const switchedOnAt = (await rig.dag("x")).switched_on_at;
  rig.place.unlink("x.ts");
  rig.place.write("moved/x.ts", dagText("x"));
  rig.place.unlink("y.ts");
  expect(await p.pass()).toMatchObject({ gone: 2 });
  expect(await rig.dag("x")).toMatchObject({
    active: true,
    file: "moved/x.ts",
    switched_on_at: switchedOnAt,
  });
  expect(await rig.dag("y")).toMatchObject({ active: false });
  expect(await rig.file("y.ts")).toBeUndefined();
  // Gone while no processor ran: found at the next start.
  rig.place.unlink("moved/x.ts");
  await rig.processor().pass();
  expect(await rig.dag("x")).toMatchObject({ active: false });
});

test("one file that PostgreSQL refuses does not keep the others out", async () => {
  rig.place.write("good.ts", dagText("good"));
  // esbuild leaves a pattern as it is written.
  rig.place.write("zero.ts", `${dagText("zero")}export const pattern = /a\0b/;\n`);
  await rig.processor().pass();
  expect(await rig.dag("good")).toMatchObject({ active: true });
  expect(await rig.file("zero.ts")).toMatchObject({ error: { code: "not_storable" } });
});
