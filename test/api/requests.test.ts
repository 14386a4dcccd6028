import { describe, expect, test } from "vitest";
import { fakeClient, post, problemOf, testApp } from "./support.ts";

const app = testApp();
const at = (path: string) => app.request(`/api/v1${path}`);
const RUN = "2026-05-09T00-00-00Z";

describe("K68: odd ids are refused with the allowed characters", () => {
  const odd = ["path/to/file.mp4", "a b", "ü/ß", "50%", "x:y@z", "2026-03-29T01:00:00+02:00"];

  test.each(odd)("run id %j", async (id) => {
    for (const tail of ["", "/tasks/t/tries", "/tasks/t/tries/1/log"]) {
      const problem = await problemOf(await at(`/dags/sales/runs/${encodeURIComponent(id)}${tail}`), 400);
      expect(problem.detail).toContain(
        `run id ${JSON.stringify(id)} is not allowed: expected a logical date like`,
      );
    }
  });

  test.each(["path/to/file.mp4", "a b", "ü/ß", "50%", "x:y@z", "a..b", "x".repeat(201)])(
    "dag, task and pool id %j",
    async (id) => {
      const text = encodeURIComponent(id);
      const paths = [
        `/dags/${text}`,
        `/dags/${text}/grid`,
        `/dags/${text}/runs`,
        `/dags/sales/runs/${RUN}/tasks/${text}/tries`,
      ];
      for (const path of paths) {
        const problem = await problemOf(await at(path), 400);
        expect(problem.detail).toContain(
          "expected 1 to 200 letters, digits, _ or -, with single dots inside",
        );
      }
      await problemOf(await post(app, `/pools/${text}`, { slots: 1 }), 400);
      await problemOf(await post(app, `/dags/${text}/runs`, {}), 400);
    },
  );
});

test.each(["..", "../x", "%2e%2e%2f", "..\\x", "a\0b", "../../../../etc/passwd", ".", "%", "%c6", "%00"])(
  "K69: %j as an id reaches neither database nor log",
  async (id) => {
    for (const text of [encodeURIComponent(id), id.replaceAll("\0", "%00")]) {
      for (const path of [
        `/dags/${text}`,
        `/dags/${text}/grid`,
        `/dags/sales/runs/${text}`,
        `/dags/sales/runs/${RUN}/tasks/${text}/tries`,
        `/dags/${text}/runs/${RUN}/tasks/t/tries/1/log`,
        `/dags/sales/runs/${text}/tasks/t/tries/1/log`,
        `/dags/sales/runs/${RUN}/tasks/${text}/tries/1/log`,
        `/dags/sales/runs/${RUN}/tasks/t/tries/${text}/log`,
      ]) {
        // Written out, the dots are gone before the server sees them: another address, and no id in it.
        const allowed =
          text === encodeURIComponent(id) && !/^\.+$/.test(id) ? [400, 404] : [400, 404, 500, 503];
        expect(allowed, path).toContain((await at(path)).status);
      }
    }
  },
);

describe("K70: limits and order", () => {
  test.each(["-1", "0", "1001", "1000000000", "ten", "", "1.5", "1e2", "0x10", "9".repeat(400)])(
    "limit=%s is refused",
    async (limit) => {
      for (const path of [
        `/dags?limit=${limit}`,
        `/runs?limit=${limit}`,
        `/dags/sales/runs?limit=${limit}`,
        `/dags/sales/grid?runs=${limit}`,
      ]) {
        const problem = await problemOf(await at(path), 400);
        expect(problem.detail).toContain("expected a whole number from 1 to 1000");
      }
    },
  );

  test.each([
    "/dags?order_by=nonsense",
    "/runs?order_by=nonsense",
    "/runs?state=nonsense",
    "/runs?state=success,nonsense",
    "/dags?state=nonsense",
    "/dags?paused=yes",
    "/dags?limit=1&limit=2",
    "/runs?before=nonsense",
    "/runs?before=1.5.6",
    "/runs?before=999999999999999.1",
    "/runs?before=-62135596800001.1",
    "/dags/sales/grid?before=-253402300799999.1",
    "/runs?from=0000-12-31T23:59:59Z",
    "/runs?until=0001-01-01T00:00:00%2B14:00",
    "/dags/sales/runs?until=9999-12-31T23:59:59-00:01",
    "/dags?sort=nextDueAt&after=-62135596900000000.a",
    "/dags?sort=-nextDueAt&after=999999999999999999.a",
    "/dags?after=a%20b",
    "/dags?search=" + "x".repeat(201),
    `/dags/sales/runs/${RUN}/tasks/t/tries?mapIndex=-2`,
    `/dags/sales/runs/${RUN}/tasks/t/tries/0/log`,
    `/dags/sales/runs/${RUN}/tasks/t/tries/1/log?offset=-1`,
    `/dags/sales/runs/${RUN}/tasks/t/tries/1/log?offset=99999999999999999999`,
    "/dags/sales/runs/2026-13-09T00-00-00Z",
  ])("%s is refused", async (path) => {
    expect((await problemOf(await at(path), 400)).code).toBe("bad_request");
  });
});

describe("bodies", () => {
  test.each([
    "tomorrow",
    "2026-02-30T00:00:00Z",
    "2026-05-09",
    "2026-05-09T00:00:00",
    "0000-01-01T00:00:00+05:00",
    "+012026-05-09T00:00:00Z",
    20260509,
    "",
  ])("logicalDate %j is refused", async (logicalDate) => {
    const problem = await problemOf(await post(app, "/dags/sales/runs", { logicalDate }), 400);
    expect(problem.detail).toContain("logicalDate");
  });

  test.each([
    { config: {} },
    { conf: [] },
    { conf: "x" },
    { conf: { a: ["\0"] } },
    { conf: { a: "\ud800" } },
    [],
  ])("trigger body %j is refused", async (body) => {
    await problemOf(await post(app, "/dags/sales/runs", body), 400);
  });

  test("conf: a number that JSON has no word for is refused, and so is what is nested too deep and a key that would be lost", async () => {
    const send = async (conf: string) => {
      const headers = { "Content-Type": "application/json" };
      const path = "/api/v1/dags/sales/runs";
      return await problemOf(
        await app.request(path, { method: "POST", headers, body: `{"conf":${conf}}` }),
        400,
      );
    };
    expect((await send('{"n":[1e400]}')).detail).toBe(
      "conf: holds a number that is too large: expected at most 1.8e308",
    );
    expect((await send('{"__proto__":{"a":1}}')).detail).toBe(
      'conf: has the key "__proto__": give it another name',
    );
    const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
    expect((await send(deep)).detail).toBe("conf: is nested too deep to be stored");
  });

  test("conf may hold what looks like a forbidden character, and whole pairs", async () => {
    const fake = fakeClient();
    const conf = { text: "\\u0000 \\\\ud800 💼 \ud83d\udcbc" };
    expect((await post(testApp({ client: fake.client }), "/dags/sales/runs", { conf })).status).toBe(201);
    expect(fake.calls[0]?.[1]).toMatchObject({ conf });
  });

  test.each([
    {},
    { slots: -1 },
    { slots: 1.5 },
    { slots: "4" },
    { slots: 1e9 },
    { slots: null },
    { slots: 4, size: 3 },
  ])("K48: pool body %j is refused", async (body) => {
    await problemOf(await post(app, "/pools/etl", body), 400);
  });
});
