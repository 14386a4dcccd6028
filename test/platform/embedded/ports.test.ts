import { type Server, createServer } from "node:net";
import { expect, test } from "vitest";
import { choosePort, freePort } from "../../../platform/embedded/ports.ts";

const PART = { what: "Postgres", setting: "MERIDIAN_POSTGRES_PORT" };

async function occupy(port: number): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return server;
}

test("a default port that is taken gives way to the next free one, and says so", async () => {
  const fallback = await freePort();
  const lines: string[] = [];
  const wish = { ...PART, fallback, given: undefined, log: (line: string) => lines.push(line) };
  expect(await choosePort(wish)).toBe(fallback);
  expect(lines).toEqual([]);
  const server = await occupy(fallback);
  const next = await choosePort(wish);
  expect(next).toBeGreaterThan(fallback);
  expect(lines).toEqual([`Postgres: port ${fallback} is taken, using ${next}`]);
  server.close();
});

test("a given port that is taken is refused in one line that names it and what to do", async () => {
  const given = await freePort();
  const server = await occupy(given);
  await expect(choosePort({ ...PART, fallback: 1, given })).rejects.toMatchObject({
    name: "Refused",
    code: "port_taken",
    message: `Postgres: port ${given} on 127.0.0.1 is taken by another program; stop that program, set MERIDIAN_POSTGRES_PORT to another port, or unset it to take the next free one`,
  });
  server.close();
  expect(await choosePort({ ...PART, fallback: 1, given })).toBe(given);
});

test("a port promised to another part of the same start is not given twice", async () => {
  const port = await freePort();
  await expect(choosePort({ ...PART, fallback: 1, given: port, taken: [port] })).rejects.toThrow(/taken/);
  expect(await choosePort({ ...PART, fallback: port, given: undefined, taken: [port] })).not.toBe(port);
});
