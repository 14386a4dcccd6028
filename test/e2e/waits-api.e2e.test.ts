import { writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serve, type ServerType } from "@hono/node-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClient } from "../../remote/index.ts";
import { appOf } from "../support/app.ts";
import { dagFile, Runs } from "../support/named-runs.ts";
import { startProduct, until, type Product } from "../support/product.ts";

let product: Product;
let runs: Runs;
let server: ServerType;
let base: string;

beforeAll(async () => {
  // Bodies are told where the API is reached, so it is there first.
  let app: { fetch: (request: Request) => Response | Promise<Response> } | null = null;
  base = await new Promise((done) => {
    server = serve(
      { fetch: async (request) => await app!.fetch(request), hostname: "127.0.0.1", port: 0 },
      (info: AddressInfo) => done(`http://127.0.0.1:${info.port}`),
    );
  });
  product = await startProduct({ env: { MERIDIAN_API_URL: base, MERIDIAN_LOST_AFTER_MS: "6000" } });
  runs = new Runs(product);
  app = appOf(product, { publicUrl: base });
});
afterAll(async () => {
  await new Promise<void>((done) => server.close(() => done()));
  await product.stop();
});

const stateOf = async (dagId: string, runId: string, name: string, state: string): Promise<void> =>
  void (await until(
    async () => ((await runs.view(dagId, runId)).cells[name] === state ? true : null),
    20_000,
    `${name} of ${dagId} ${state}`,
  ));
const send = async (url: string, payload: unknown) =>
  await fetch(url, { method: "POST", body: JSON.stringify(payload) });

describe("A6: waits are ended over HTTP, on real servers", () => {
  it("A6 K39: the address that an upstream body was given ends the wait before it has begun", async () => {
    await product.save(
      "address.ts",
      dagFile(
        "api_address",
        `const ask = task("ask", async ({ waitUrl }) => {
           const url = waitUrl("approval");
           const answer = await fetch(url, { method: "POST", body: JSON.stringify({ by: "ann", z: 1, a: 2 }) });
           return { url, status: answer.status };
         });
         const approval = waitFor("approval", { after: [ask] });
         task("go", { inputs: { approval, ask } }, ({ inputs }) => ({ ...inputs.approval, ...inputs.ask }));`,
      ),
    );
    const ended = await runs.trigger("api_address");
    expect(ended.state).toBe("success");
    const { url, ...got } = ended.outputs["go"] as { url: string };
    expect(got).toEqual({ by: "ann", z: 1, a: 2, status: 200 });
    expect(url.startsWith(`${base}/api/v1/waits/`)).toBe(true);
    const late = await send(url, {});
    expect([late.status, ((await late.json()) as { code: string }).code]).toEqual([409, "already_ended"]);
  });

  it("A6: what waits is ended at once by its address, by name for an instance, and a sensor is checked when asked", async () => {
    const file = join(product.config.home, "file");
    await product.save(
      "names.ts",
      dagFile(
        "api_names",
        `const list = task("list", () => ["a", "b"]);
         waitFor("approval", { after: [list] });
         sensor("file", { after: [list], every: "1h" }, async () => (await import("node:fs")).existsSync(${JSON.stringify(file)}));
         task("each", { expand: { one: list } }, ({ resumed, inputs }) => {
           if (resumed === undefined) defer({ event: true });
           return [inputs.one, resumed.payload];
         });`,
      ),
    );
    const runId = await runs.begin("api_names");
    for (const name of ["approval", "file", "each[0]", "each[1]"])
      await stateOf("api_names", runId, name, "deferred");
    const client = createClient({ url: base, user: "ann@ci" });
    const open = await client.waits.ofRun("api_names", runId).all();
    expect(open.map(({ taskId, mapIndex, kind }) => [taskId, mapIndex, kind])).toEqual([
      ["approval", -1, "event"],
      ["each", 0, "event"],
      ["each", 1, "event"],
      ["file", -1, "sensor"],
    ]);
    const run = await client.runs.get("api_names", runId);
    expect(run.waiting.map(({ taskId }) => taskId).toSorted((a, b) => (a! < b! ? -1 : 1))).toEqual([
      "approval",
      "each",
      "each",
      "file",
    ]);
    const began = Date.now();
    expect((await send(open[0]!.url!, "yes")).status).toBe(200);
    await stateOf("api_names", runId, "approval", "success");
    // At once: nobody waits for a worker to look.
    expect(Date.now() - began).toBeLessThan(5_000);
    const of = { dagId: "api_names", runId };
    await client.waits.end({ ...of, taskId: "each", mapIndex: 1 }, "second");
    await client.waits.end({ ...of, taskId: "each", mapIndex: 0 }, "first");
    writeFileSync(file, "");
    await client.waits.poke({ ...of, taskId: "file" });
    const ended = await runs.ended("api_names", runId);
    expect(ended.state).toBe("success");
    expect([ended.outputs["approval"], ended.outputs["each[0]"], ended.outputs["each[1]"]]).toEqual([
      "yes",
      ["a", "first"],
      ["b", "second"],
    ]);
    const after = await client.waits.ofRun("api_names", runId).all();
    expect(after.map(({ endedBy, endedAs }) => [endedBy, endedAs])).toEqual([
      ["anonymous@api", "success"],
      ["ann@ci", "success"],
      ["ann@ci", "success"],
      [null, "success"],
    ]);
  });
});
