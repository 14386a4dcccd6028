import { pino, type Logger } from "pino";
import pretty from "pino-pretty";

export type Log = Logger;

/** The process log on stderr, so that stdout stays for answers: JSON lines, or readable ones in a terminal. */
export function createLog(level: string, name: string): Log {
  const { err: error } = pino.stdSerializers;
  return pino(
    { level, name, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: error, error } },
    process.stderr.isTTY
      ? pretty({ destination: 2, sync: true, translateTime: "SYS:HH:MM:ss", ignore: "name" })
      : pino.destination({ dest: 2, sync: true }),
  );
}
