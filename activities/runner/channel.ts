import type { LogLine } from "../../core/body.ts";
import type { Ended, FromHost, ToHost, Vitals } from "./messages.ts";

export interface ChannelEvents {
  readonly onMessage: (message: FromHost) => void;
  /** Once, whatever ended it. */
  readonly onEnd: (why: Ended) => void;
  /** What a child process, or a child of its own, wrote by itself. */
  readonly onOutput: (level: LogLine["level"], text: string) => void;
}

/** A running thread or child process, seen from the runner. */
export interface Channel {
  post(message: ToHost): void;
  /** Ends it by force; resolves when its code has stopped, or could not be stopped in a few seconds (false). */
  end(): Promise<boolean>;
  /** A process is for one body: it ends itself after that, and resolves when its output is read. */
  readonly leave?: () => Promise<void>;
  /** As last seen; null for a process of its own, which harms nobody by being silent. */
  readonly vitals: Vitals | null;
}

export const STUB = new URL("./inside/start.mjs", import.meta.url);
