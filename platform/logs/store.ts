import type { LogLine } from "../../core/body.ts";

/** One try's log. `mapIndex` is -1 for a task that is not mapped. */
export interface LogKey {
  readonly dagId: string;
  readonly runId: string;
  readonly taskId: string;
  readonly mapIndex: number;
  readonly try: number;
}

/** A piece of a log. `nextOffset` (bytes) is where the next read goes on. */
export interface LogPart {
  readonly lines: readonly LogLine[];
  readonly nextOffset: number;
  /** Nothing more is there now and, as far as this store knows, nothing will come. */
  readonly done: boolean;
}

/** Keeps one log per try, for as long as retention wants, whatever becomes of the worker. */
export interface LogStore {
  /** Buffered and ordered; returns at once. */
  append(key: LogKey, lines: readonly LogLine[]): void;
  /** The try has ended: what it logged is written when this resolves. */
  close(key: LogKey): Promise<void>;
  /** All that was appended so far is written when this resolves. */
  flush(): Promise<void>;
  /** From a byte offset that an earlier read gave (0: the beginning). A log that does not exist is empty. */
  read(key: LogKey, offset: number): Promise<LogPart>;
}
