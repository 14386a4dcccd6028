import { expect, test } from "vitest";
import { useRig } from "./rig.ts";
import { dagText, makeLog, makeProcessor, makeWorkplace } from "./support.ts";

const rig = useRig();

/** Every row of the processor's tables with the transaction that wrote it last. */
const rows = async () =>
  (
    await rig.pool.query(
      `select 'dag' as t, dag_id as k, xmin::text, row_to_json(d)::text as r from app.dag d
       union all select 'version', version::text, xmin::text, row_to_json(v)::text from app.dag_version v
       union all select 'bundle', hash, xmin::text, hash from app.bundle b
       union all select 'file', path, xmin::text, row_to_json(f)::text from app.dag_file f
       union all select 'account', key, xmin::text, row_to_json(a)::text from app.account a
       order by 1, 2`,
    )
  ).rows;

/** From now on a row that is inserted, updated or deleted is an error. */
async function forbidWrites(): Promise<void> {
  await rig.pool.query(
    `create function app.refuse_write() returns trigger language plpgsql as
       $$ begin raise exception '% of %', tg_op, tg_table_name; end $$`,
  );
  const { rows: tables } = await rig.pool.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'app'::regnamespace and relkind in ('r', 'p') and not relispartition",
  );
  for (const { name } of tables) {
    await rig.pool.query(
      `create trigger refuse_write before insert or update or delete on app.${name}
         for each row execute function app.refuse_write()`,
    );
  }
}

test("B1, B2: a second pass over 60 unchanged files, by the same or a new processor, writes nothing", async () => {
  for (let i = 0; i < 60; i++) rig.place.write(`team_${i % 6}/dag_${i}.ts`, dagText(`dag_${i}`));
  rig.place.write("broken.ts", "dag(;\n");
  rig.place.write("throws.ts", `${dagText("throws")}throw new Error("no");\n`);
  rig.place.write("reads.ts", `${dagText("reads")}console.log(new Date());\n`);
  const p = rig.processor();
  expect(await p.pass()).toMatchObject({ files: 63 });
  expect(await rig.versions()).toHaveLength(61);
  const before = await rows();
  await forbidWrites();
  await expect(rig.pool.query("update app.dag set owner = owner")).rejects.toThrow("UPDATE of dag");
  const { log, lines } = makeLog();
  expect(await p.pass()).toMatchObject({ files: 63, stored: 0 });
  const other = rig.processor({ log });
  expect(await other.pass()).toMatchObject({ files: 63, stored: 0 });
  expect(await rows()).toEqual(before);
  expect(lines.filter((line) => line.startsWith("error"))).toEqual([]);
});

test("B1: when a file was looked at and stored, how long its import took, and how long its change waited", async () => {
  const p = rig.processor();
  rig.place.write("x.ts", dagText("x"));
  await p.pass();
  const first = await rig.file("x.ts");
  expect(first).toMatchObject({ error: null, duration_ms: expect.any(Number) as number });
  expect(first.stored_at).toEqual(first.checked_at);
  expect(first.queue_ms).toBeGreaterThanOrEqual(0);
  expect(first.queue_ms).toBeLessThan(60_000);

  rig.place.write("x.ts", `${dagText("x")}// A comment: no other version.\n`);
  await new Promise((resolve) => setTimeout(resolve, 700));
  await p.pass();
  const looked = await rig.file("x.ts");
  expect(looked.stored_at).toEqual(first.stored_at);
  expect(looked.checked_at.getTime()).toBeGreaterThan(first.checked_at.getTime());
  expect(looked.queue_ms, "it lay there for 700 ms").toBeGreaterThanOrEqual(600);

  rig.place.write("x.ts", `${dagText("x")}throw new Error("no");\n`);
  await p.pass();
  const broken = await rig.file("x.ts");
  expect(broken).toMatchObject({ error: { message: "no" }, stored_at: first.stored_at });
  rig.place.write("x.ts", `${dagText("x")}// One line more.\nthrow new Error("no");\n`);
  await p.pass();
  const again = await rig.file("x.ts");
  expect(again.checked_at.getTime()).toBeGreaterThan(broken.checked_at.getTime());

  rig.place.write("x.ts", dagText("y"));
  await p.pass();
  const renamed = await rig.file("x.ts");
  expect(renamed.stored_at.getTime()).toBeGreaterThan(first.stored_at.getTime());
  rig.place.write("other.ts", dagText("y"));
  await p.pass();
  const shared = await rig.file("x.ts");
  expect(shared.error).toMatchObject({ code: "duplicate_dag" });
  expect(shared.checked_at, "x.ts itself was not imported").toEqual(renamed.checked_at);
});

test(
  "B1: processors on two folders of different age do not undo each other's work",
  { timeout: 60_000 },
  async () => {
    const older = makeWorkplace();
    const old = makeProcessor(older, rig.pool);
    try {
      older.write("both.ts", dagText("both", "{}", "() => 'old'"));
      older.write("gone.ts", dagText("gone"));
      older.write("mended.ts", `${dagText("mended")}throw new Error("of the old folder");\n`);
      older.write("syntax.ts", "dag(;\n");
      await old.pass();
      rig.place.write("both.ts", dagText("both", "{}", "() => 'new'"));
      rig.place.write("mended.ts", dagText("mended"));
      rig.place.write("syntax.ts", dagText("syntax"));
      rig.place.write("added.ts", dagText("added"));
      const fresh = rig.processor();
      await fresh.pass();
      const inForce = await rows();
      expect((await rig.versions()).map((v) => `${v.dag_id} ${v.number}`)).toEqual([
        "added 1",
        "both 1",
        "both 2",
        "gone 1",
        "mended 1",
        "syntax 1",
      ]);
      expect(await rig.dag("gone")).toMatchObject({ active: false });
      for (let i = 0; i < 3; i++) {
        await old.pass();
        await fresh.pass();
      }
      expect(await rows()).toEqual(inForce);
      // The old one is told to go: nothing of the new one's goes with it.
      await old.stop();
      expect(await rows()).toEqual(inForce);
    } finally {
      await old.stop();
      older.remove();
    }
  },
);
