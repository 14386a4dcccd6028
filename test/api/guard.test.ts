import { describe, expect, test } from "vitest";
import { hostName } from "../../api/guard.ts";
import { fakeClient, problemOf, testApp } from "./support.ts";

const app = testApp({ allowedHosts: ["meridian.example.com:8443"] });
const pause = (headers: Record<string, string>, body = "{}") =>
  app.request("/api/v1/dags/sales/pause", {
    method: "POST",
    body,
    headers: { "Content-Type": "application/json", ...headers },
  });

describe("Host", () => {
  test.each([
    "localhost",
    "localhost:8080",
    "LOCALHOST",
    "127.0.0.1:9",
    "[::1]:8080",
    "meridian.example.com",
    "meridian.example.com.:1",
  ])("%s is answered", async (host) => {
    expect((await app.request("/api/openapi.json", { headers: { host } })).status).toBe(200);
  });

  test.each([
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example:80",
    "x@localhost",
    "localhost/x",
    "",
    "a b",
    "0.0.0.0",
  ])("%j is refused, for the page too", async (host) => {
    for (const path of ["/api/openapi.json", "/"]) {
      const problem = await problemOf(await app.request(path, { headers: { host } }), 403);
      expect(problem.code).toBe("foreign_host");
    }
  });

  test("names without port, brackets or last dot", () => {
    expect(["a:1", "[::1]:1", "a.", "a/b"].map(hostName)).toEqual(["a", "::1", "a", null]);
  });
});

describe("Origin of a change", () => {
  const host = "localhost:8080";

  test.each([
    {},
    { origin: "http://localhost:8080" },
    { origin: "http://localhost:5173", "sec-fetch-site": "same-origin" },
    { origin: "https://meridian.example.com", "sec-fetch-site": "same-origin" },
  ])("%j is taken", async (headers: Record<string, string>) => {
    expect((await pause({ host, ...headers })).status).toBe(200);
  });

  test.each([
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "file://localhost" },
    { origin: "http://localhost:3000", "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "cross-site" },
  ])("%j is refused, and nothing is done", async (headers: Record<string, string>) => {
    const fake = fakeClient();
    const response = await testApp({ client: fake.client }).request("/api/v1/dags/sales/unpause", {
      method: "POST",
      headers: { host, ...headers },
    });
    expect((await problemOf(response, 403)).code).toBe("foreign_origin");
    expect(fake.calls).toEqual([]);
  });

  test("a foreign page may follow a link here", async () => {
    const headers = { host, origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    expect((await app.request("/api/openapi.json", { headers })).status).toBe(200);
  });
});

describe("bodies", () => {
  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonx",
    "",
  ])("content type %j is refused", async (type) => {
    expect((await problemOf(await pause({ "Content-Type": type }), 415)).code).toBe("not_json");
  });

  test("no body needs no content type", async () => {
    const response = await app.request("/api/v1/dags/sales/pause", { method: "POST" });
    expect(response.status).toBe(200);
  });

  test("a body over the limit is refused, told or not told its length", async () => {
    const big = JSON.stringify({ reason: "x".repeat(300_000) });
    expect((await problemOf(await pause({}, big), 413)).code).toBe("body_too_large");
    expect((await problemOf(await pause({ "Content-Length": String(big.length) }, big), 413)).code).toBe(
      "body_too_large",
    );
  });

  test("broken JSON", async () => {
    expect((await problemOf(await pause({}, "{"), 400)).code).toBe("bad_json");
  });
});

test("headers that keep browsers strict are on every answer", async () => {
  for (const path of ["/", "/api/openapi.json", "/api/v1/nothing"]) {
    const { headers } = await app.request(path);
    expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
    expect(headers.get("X-Frame-Options")).toBe("DENY");
    expect(headers.get("Content-Security-Policy")).toContain("default-src 'none'");
    expect(headers.get("Access-Control-Allow-Origin")).toBeNull();
    expect(headers.get("Referrer-Policy")).toBe("same-origin");
    expect(headers.get("Content-Security-Policy")).toContain("frame-ancestors 'none'");
  }
});
