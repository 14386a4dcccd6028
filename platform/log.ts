import { pino, type Logger } from "pino";

export type Log = Logger;

/** The process log: JSON lines on stderr, so that stdout stays for answers. */
export function createLog(level: string, name: string): Log {
  return pino(
    { level, name, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}
