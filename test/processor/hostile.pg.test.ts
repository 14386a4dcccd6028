import { realpathSync } from "node:fs";
import { expect, test } from "vitest";
import { useRig } from "./rig.ts";
import { dagText, eventually } from "./support.ts";

const rig = useRig();
const TOO_LONG =
  "import of loop.ts took longer than 6 s; look for a loop without end, a slow call or an await that never ends " +
  "at the top level (of the file, of what it imports, of a DAG's function) and move it into a task";
const limits = { timeoutMs: 6_000, promptMs: 2_000, memoryMb: 128 };

test(
  "K64: a file that never returns, prints 100 MB, or ends its process harms only itself",
  { timeout: 120_000 },
  async () => {
    const bad: Record<string, string> = {
      "loop.ts": "while (true) {}\n",
      "never.ts": "await new Promise(() => {});\n",
      "print.ts": 'const line = "x".repeat(1_000_000);\nfor (let i = 0; i < 100; i++) console.log(line);\n',
      "exit.ts": "process.exit(0);\n",
      "later.ts":
        "setTimeout(() => process.exit(0), 1);\nawait new Promise((done) => setTimeout(done, 500));\n",
      "reject.ts":
        "void Promise.reject(new RangeError('nobody waits'));\nawait new Promise((done) => setTimeout(done, 500));\n",
      "heap.ts": "const all: number[][] = [];\nfor (;;) all.push(new Array(1e5).fill(1.5));\n",
      "buffers.ts": "const all: Buffer[] = [];\nfor (;;) all.push(Buffer.alloc(1e7, 1));\n",
      "throw.ts": "throw null;\n",
    };
    const p = rig.processor({ limits });
    for (const path of Object.keys(bad)) rig.place.write(path, dagText(path.replace(".ts", "")));
    for (let i = 0; i < 10; i++) rig.place.write(`good_${i}.ts`, dagText(`good_${i}`));
    expect(await p.pass()).toMatchObject({ files: 19, stored: 19 });
    const before = await rig.versions();

    for (const [path, text] of Object.entries(bad))
      rig.place.write(path, dagText(path.replace(".ts", "")) + text);
    for (let i = 0; i < 10; i++) rig.place.write(`good_${i}.ts`, dagText(`good_${i}`, "{}", "() => 2"));
    const passing = p.pass();
    await eventually(async () => (await rig.versions()).length === before.length + 10, 60_000);
    await passing;

    const { rows } = await rig.pool.query(
      "select path, error, dag_ids from app.dag_file where error is not null",
    );
    const errors = Object.fromEntries(rows.map((row) => [row.path, row.error]));
    expect(errors).toMatchObject({
      "loop.ts": { code: "import_timeout", message: TOO_LONG },
      "never.ts": { code: "import_timeout" },
      "print.ts": { code: "import_output", message: "printed more than 10000000 bytes at import" },
      "exit.ts": { code: "import_exit", message: expect.stringContaining("code 0") },
      "later.ts": { code: "import_exit" },
      "reject.ts": { code: "RangeError", message: "nobody waits", file: "reject.ts", line: 5 },
      "heap.ts": { code: "import_memory", message: "import needs more than 128 MB of memory" },
      "buffers.ts": { code: "import_memory" },
      "throw.ts": { code: "thrown" },
    });
    expect(Object.keys(errors).sort()).toEqual(Object.keys(bad).sort());
    for (const row of rows) expect(row.dag_ids).toEqual([row.path.replace(".ts", "")]);
    const { rows: inForce } = await rig.pool.query(
      "select d.dag_id from app.dag d join app.dag_version v using (version) where d.active and v.number = 1 order by 1",
    );
    expect(inForce.map((row) => `${row.dag_id}.ts`)).toEqual(Object.keys(bad).sort());
  },
);

test(
  "K64: a file that hangs keeps the next one waiting for nothing, and its repair ends it at once",
  { timeout: 60_000 },
  async () => {
    rig.place.write("hang.ts", `${dagText("hang")}while (true) {}\n`);
    const p = rig.processor({ limits: { timeoutMs: 60_000, promptMs: 500 } });
    await p.start();
    rig.place.write("next.ts", dagText("next"));
    await eventually(() => rig.dag("next"), 20_000);
    rig.place.write("hang.ts", dagText("hang"));
    await eventually(() => rig.dag("hang"), 20_000);
    expect(await rig.file("hang.ts")).toMatchObject({ error: null });
  },
);

test("what a file prints or sends at import is no answer; it sees nothing of the processor's surroundings", async () => {
  rig.place.write(
    "talk.ts",
    `${dagText("talk")}
    console.log(JSON.stringify({ kind: "ok", id: 1, graphs: [], durationMs: 1 }));
    process.stderr.write("{}");
    process.send?.({ kind: "ok", id: 1, graphs: [], durationMs: 1 });`,
  );
  rig.place.write(
    "env.ts",
    'import { dag } from "meridian";\nthrow new Error(Object.keys(process.env).sort().join() + process.env.TZ + typeof dag); // dag(\n',
  );
  await rig.processor().pass();
  expect(await rig.file("talk.ts")).toMatchObject({ error: null, dag_ids: ["talk"] });
  expect((await rig.file("env.ts")).error.message).toMatch(
    /^HOME,(NODE_CHANNEL_FD,NODE_CHANNEL_SERIALIZATION_MODE,)?PATH,TZUTCfunction$/,
  );
});

test("K64: a file that changes JSON for all has its own error, and the pass goes on", async () => {
  rig.place.write("json.ts", `${dagText("json")}JSON.stringify = () => "junk";\n`);
  rig.place.write("later.ts", dagText("later"));
  await rig.processor().pass();
  expect((await rig.file("json.ts")).error).toMatchObject({ code: "bad_graph" });
  expect(await rig.file("later.ts")).toMatchObject({ error: null, dag_ids: ["later"] });
});

test(
  "K64: what a file changes for all of its process reaches no other file, though they share children",
  { timeout: 60_000 },
  async () => {
    const bad: Record<string, string> = {
      json: 'JSON.stringify = () => "junk";',
      later:
        'setTimeout(() => (JSON.stringify = () => "junk"), 1);\nawait new Promise((done) => setTimeout(done, 20));',
      keys: "(Object.prototype as any).evil = 1;",
      array: "Array.prototype.map = () => [];",
      lines: "Error.stackTraceLimit = 0;",
      away: 'process.chdir("/"); process.env["TZ"] = "Asia/Tokyo";',
    };
    for (const [name, text] of Object.entries(bad))
      rig.place.write(`${name}.ts`, `${dagText(name)}${text}\n`);
    const good = Array.from({ length: 12 }, (_, i) => `good_${i}`);
    const here = "[[process.cwd(), process.env['TZ']].join(), ...Object.keys({}), ...[1].map((n) => `${n}`)]";
    for (const name of good) rig.place.write(`${name}.ts`, dagText(name, `{ tags: ${here} }`));
    rig.place.write("wrong.ts", `${dagText("wrong")}throw new Error("here");\n`);
    await rig.processor({ limits: { children: 1 } }).pass();

    for (const name of good)
      expect(await rig.file(`${name}.ts`)).toMatchObject({ error: null, dag_ids: [name] });
    const { rows } = await rig.pool.query("select distinct tags from app.dag where dag_id like 'good%'");
    expect(rows).toEqual([{ tags: [`${realpathSync(rig.place.folder)},UTC`, "1"] }]);
    expect((await rig.file("wrong.ts")).error).toMatchObject({ message: "here", file: "wrong.ts", line: 5 });
    expect((await rig.file("json.ts")).error).toMatchObject({ code: "bad_graph" });
  },
);
