import { createServer } from "node:net";
import { Refused } from "../../core/errors.ts";

/** Whether nothing listens on this port of 127.0.0.1 (or of all addresses). */
export async function isFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== null;
}

/** A port that was free a moment ago, chosen by the system. */
export async function freePort(): Promise<number> {
  const port = await listenOnce(0);
  if (port === null)
    throw new Refused("no_free_port", "no free port on 127.0.0.1; close something that listens");
  return port;
}

export interface PortWish {
  /** What it is for, in the reader's words: "Postgres". */
  readonly what: string;
  readonly fallback: number;
  /** Set by the user: then this one or none. */
  readonly given: number | undefined;
  /** Ports already promised to another part of this start. */
  readonly taken?: readonly number[];
}

/** The given port, or the first free one from the default upwards. */
export async function choosePort(wish: PortWish): Promise<number> {
  const { what, given, fallback, taken = [] } = wish;
  if (given !== undefined) {
    if (!taken.includes(given) && (await isFree(given))) return given;
    throw new Refused(
      "port_taken",
      `${what}: port ${given} on 127.0.0.1 is taken by another program; stop that program, give another port, or give none to take the next free one`,
      { details: { port: given } },
    );
  }
  for (let port = fallback; port < fallback + 100; port += 1) {
    if (!taken.includes(port) && (await isFree(port))) return port;
  }
  return freePort();
}

function listenOnce(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      const address = server.address();
      const got = address !== null && typeof address === "object" ? address.port : null;
      server.close(() => resolve(got));
    });
  });
}
