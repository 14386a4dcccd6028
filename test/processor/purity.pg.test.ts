import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { useRig } from "./rig.ts";
import { dagText } from "./support.ts";

const rig = useRig();
const errors = async () =>
  Object.fromEntries(
    (await rig.pool.query("select path, error from app.dag_file where error is not null")).rows.map((row) => [
      row.path,
      row.error,
    ]),
  );

test(
  "K62: a file whose DAG depends on the clock or on randomness is an error with its line, not 20 versions",
  { timeout: 60_000 },
  async () => {
    const using = (id: string, value: string) =>
      `import { randomUUID, randomBytes } from "node:crypto";\nvoid [randomUUID, randomBytes];\n${dagText(id, `{ description: String(${value}) }`)}`;
    const values: Record<string, [string, string]> = {
      "date.ts": ["new Date()", "clock_at_import"],
      "called.ts": ["Date()", "clock_at_import"],
      "now.ts": ["Date.now()", "clock_at_import"],
      "year.ts": ["new Date().getFullYear()", "clock_at_import"],
      "monotonic.ts": ["performance.now()", "clock_at_import"],
      "math.ts": ["Math.random()", "random_at_import"],
      "uuid.ts": ["randomUUID()", "random_at_import"],
      "bytes.ts": ['randomBytes(4).toString("hex")', "random_at_import"],
      "web.ts": ["crypto.randomUUID()", "random_at_import"],
    };
    const p = rig.processor({ limits: { children: 4 } });
    for (const [path, [value]] of Object.entries(values))
      rig.place.write(path, using(path.replace(".ts", ""), value));
    rig.place.write("good.ts", dagText("good"));
    for (let i = 0; i < 3; i++) {
      await p.pass();
      for (const path of Object.keys(values)) {
        rig.place.write(path, `// ${i}\n${using(path.replace(".ts", ""), values[path]![0])}`);
      }
    }
    const found = await errors();
    expect(Object.keys(found).sort()).toEqual(Object.keys(values).sort());
    for (const [path, [, code]] of Object.entries(values)) {
      expect(found[path], path).toMatchObject({ code, file: path, line: 5 });
    }
    expect(found["date.ts"].message).toBe(
      "new Date() at import: what the file defines depends on it, so each import would be another version; " +
        "write a fixed date, or take dates from the run's interval in a task (ds, dataInterval)",
    );
    expect((await rig.versions()).map((version) => version.dag_id)).toEqual(["good"]);
  },
);

test("K62: reading the clock is no error where the DAGs do not depend on it; dates with arguments are not reads", async () => {
  rig.place.write(
    "calm.ts",
    `const began = Date.now();
     ${dagText("calm", '{ startDate: new Date("2026-01-01T00:00:00Z") }', "() => new Date()")}
     console.log("took", Date.now() - began, Math.random(), new Date() instanceof Date, new Date().constructor === Date);`,
  );
  await rig.processor().pass();
  expect(await errors()).toEqual({});
  expect(await rig.dag("calm")).toMatchObject({ start_at: new Date("2026-01-01T00:00:00Z") });
});

test("K62: the version in force stays when a file begins to read the clock", async () => {
  const p = rig.processor();
  rig.place.write("x.ts", dagText("x"));
  await p.pass();
  const before = await rig.dag("x");
  rig.place.write("x.ts", dagText("x", "{ tags: [new Date().toISOString()] }"));
  await p.pass();
  expect(await rig.file("x.ts")).toMatchObject({
    error: { code: "clock_at_import", line: 2 },
    dag_ids: ["x"],
  });
  expect(await rig.dag("x")).toEqual(before);
});

test("A15: the network is out of reach at import, also for a file that goes on without it", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end("[]");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  try {
    rig.place.write("fetch.ts", `${dagText("a")}await fetch("${url}/fetch");\n`);
    rig.place.write("caught.ts", `${dagText("b")}await fetch("${url}/caught").catch(() => []);\n`);
    rig.place.write("floating.ts", `${dagText("c")}void fetch("${url}/floating");\nawait 0;\n`);
    rig.place.write(
      "http.ts",
      `import { get } from "node:http";\n${dagText("d")}await new Promise((done) => get("${url}/http", done));\n`,
    );
    rig.place.write(
      "socket.ts",
      `import { connect } from "node:net";\n${dagText("e")}connect(${port}, "127.0.0.1");\n`,
    );
    rig.place.write("body.ts", dagText("f", "{}", `async () => await fetch("${url}/body")`));
    await rig.processor().pass();
    const found = await errors();
    expect(found).toMatchObject({
      "fetch.ts": { code: "network_at_import", line: 5 },
      "caught.ts": { code: "network_at_import", line: 5 },
      "floating.ts": { code: "network_at_import", line: 5 },
      "http.ts": { code: "network_at_import", line: 6 },
      "socket.ts": { code: "network_at_import", line: 6 },
    });
    expect(found["fetch.ts"].message).toBe(
      `fetch(${url}/fetch) at import: a DAG file is imported often, and by every worker, so it must not reach the ` +
        "network; move the call into a task",
    );
    expect(found["socket.ts"].message).toContain(`a connection to 127.0.0.1:${port} at import`);
    expect(await rig.file("body.ts")).toMatchObject({ error: null });
    expect(asked).toEqual([]);
  } finally {
    server.close();
  }
});
