import { createServer } from "node:net";
import { Refused } from "../../core/errors.ts";

const LOOPBACK = "127.0.0.1";

export interface PortWish {
  /** What it is for, in the reader's words: "Postgres". */
  readonly what: string;
  /** Its name in the environment, for the error. */
  readonly setting: string;
  readonly fallback: number;
  /** Set by the user: then this one or none. */
  readonly given: number | undefined;
  /** Ports already promised to another part of this start. */
  readonly taken?: readonly number[];
  readonly log?: (line: string) => void;
}

/** Refuses a port that was set and that nobody may listen on now; with none set all is well. */
export async function checkGivenPort(wish: PortWish): Promise<void> {
  const { given, taken = [] } = wish;
  if (given === undefined) return;
  const problem = taken.includes(given) ? "EADDRINUSE" : await whyNot(given);
  if (problem !== null) throw portRefused(wish, given, problem);
}

/** The given port, or the first free one from the default upwards. */
export async function choosePort(wish: PortWish): Promise<number> {
  const { what, given, fallback, taken = [] } = wish;
  await checkGivenPort(wish);
  if (given !== undefined) return given;
  for (let port = fallback; port < fallback + 100; port += 1) {
    if (taken.includes(port) || (await whyNot(port)) !== null) continue;
    if (port !== fallback) wish.log?.(`${what}: port ${fallback} is taken, using ${port}`);
    return port;
  }
  return freePort();
}

/** A port that was free a moment ago, chosen by the system. */
export async function freePort(): Promise<number> {
  const tried = await listenOnce(0);
  if (typeof tried === "number") return tried;
  throw new Refused("no_free_port", `no free port on 127.0.0.1 (${tried}); close a program that listens`);
}

function portRefused({ what, setting }: PortWish, port: number, problem: string): Refused {
  const why = problem === "EADDRINUSE" ? "is taken by another program" : `cannot be listened on (${problem})`;
  return new Refused(
    "port_taken",
    `${what}: port ${port} on 127.0.0.1 ${why}; stop that program, set ${setting} to another port, or unset it to take the next free one`,
    { details: { port } },
  );
}

/** Why nobody could listen there now, as an error code; null when it is free. */
export async function whyNot(port: number, host = LOOPBACK): Promise<string | null> {
  const tried = await listenOnce(port, host);
  return typeof tried === "number" ? null : tried;
}

/** The port listened on for a moment, or the error code. */
function listenOnce(port: number, host = LOOPBACK): Promise<number | string> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      const got = address !== null && typeof address === "object" ? address.port : port;
      server.close(() => resolve(got));
    });
  });
}
