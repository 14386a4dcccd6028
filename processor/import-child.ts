import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { basename, delimiter, dirname } from "node:path";
import type { ImportHow, ImportReply, ImportRequest, ImpureCall, RawError } from "./protocol.ts";
import type { ImportLimits } from "./types.ts";

const START_MS = 60_000;
const KEPT_OUTPUT = 8_192;

/** Nothing of our own surroundings: no secrets, and the same answer on every host. */
const ENV = {
  PATH: [dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter),
  HOME: homedir(),
  TZ: "UTC",
};

/** What one import came to. `died`: the child is gone, through this file or one before it. */
export type ChildAnswer =
  | {
      readonly kind: "ok";
      readonly graphs: readonly string[];
      readonly impure: readonly ImpureCall[];
      readonly durationMs: number;
    }
  | { readonly kind: "failed"; readonly error: RawError; readonly durationMs: number }
  | {
      readonly kind: "died";
      readonly cause: "timeout" | "output" | "memory" | "crash" | "exit" | "stopped";
      readonly error: RawError;
      readonly durationMs: number;
    };

/** A process that imports bundles, one at a time. It is never trusted to end by itself: whoever makes it kills it. */
export class ImportChild {
  /** Files it has been given. */
  taken = 0;
  /** One of them changed what the next would share with it. */
  spent = false;
  #process: ChildProcess;
  #limits: ImportLimits;
  #ready: Promise<void>;
  #current: { id: number; startedAt: number; resolve: (answer: ChildAnswer) => void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #printed = 0;
  #output = "";
  #crash: RawError | undefined;
  #gone = false;

  constructor(program: string, limits: ImportLimits, cwd: string) {
    this.#limits = limits;
    const maxRssBytes = limits.memoryMb * 2 * 1024 * 1024;
    this.#process = spawn(
      process.execPath,
      [`--max-old-space-size=${limits.memoryMb}`, "--enable-source-maps", program, String(maxRssBytes)],
      {
        cwd,
        env: ENV,
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        // A group of its own, so that what it starts goes with it.
        detached: process.platform !== "win32",
        windowsHide: true,
      },
    );
    this.#process.stdout!.on("data", (chunk: Buffer) => this.#print(chunk));
    this.#process.stderr!.on("data", (chunk: Buffer) => this.#print(chunk));
    // What it started may hold its outputs open.
    this.#process.on("exit", () => this.#killGroup());
    // Both: an answer may still be in the channel when the process is gone.
    void Promise.all([once(this.#process, "close"), once(this.#process, "disconnect")]).then(
      ([[code, signal]]) => this.#ended(code as number | null, signal as NodeJS.Signals | null),
      () => this.#ended(null, null),
    );
    this.#ready = new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no answer within ${START_MS} ms`)), START_MS);
      this.#process.once("error", reject);
      this.#process.once("close", () => {
        clearTimeout(late);
        reject(new Error(this.#output.trim() || "ended at once"));
      });
      this.#process.on("message", (reply: ImportReply) => {
        clearTimeout(late);
        if (reply.kind === "ready") resolve();
        else this.#reply(reply);
      });
    });
    this.#ready.catch(() => this.kill());
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** Throws when the child did not start, which is no fault of the file. */
  async import(path: string, timeoutMs: number, how: ImportHow): Promise<ChildAnswer> {
    try {
      await this.#ready;
    } catch (error) {
      throw new Error(`a process for importing DAG files did not start: ${(error as Error).message}`);
    }
    this.taken += 1;
    this.#printed = 0;
    this.#output = "";
    const request: ImportRequest = { id: this.taken, path, how };
    return new Promise((resolve) => {
      this.#current = { id: request.id, startedAt: performance.now(), resolve };
      if (this.#gone) return this.#died("exit", "it ended before the import");
      this.#timer = setTimeout(
        () => this.#died("timeout", `import of ${basename(path)} took longer than ${tooLong(timeoutMs)}`),
        timeoutMs,
      );
      this.#process.send(request, () => {});
    });
  }

  /** Ends it, with all that it started; an import under way is answered `stopped`. */
  kill(): void {
    this.#died("stopped", "the processor is stopping");
    if (!this.#gone) this.#killGroup();
  }

  #killGroup(): void {
    const { pid } = this.#process;
    if (pid === undefined) return;
    try {
      process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
    } catch {
      this.#process.kill("SIGKILL");
    }
  }

  #reply(reply: ImportReply): void {
    if (reply.kind === "crashed") this.#crash = reply.error;
    else if (reply.kind !== "ready" && reply.id === this.#current?.id) {
      const { kind: _, id: __, spent, ...rest } = reply;
      this.spent ||= spent;
      this.#settle({ kind: reply.kind, ...rest } as ChildAnswer);
    }
  }

  #print(chunk: Buffer): void {
    this.#printed += chunk.length;
    this.#output = (this.#output + chunk.toString("utf8")).slice(-KEPT_OUTPUT);
    if (this.#printed > this.#limits.outputBytes) {
      this.#died("output", `printed more than ${this.#limits.outputBytes} bytes at import`);
    }
  }

  #ended(code: number | null, signal: NodeJS.Signals | null): void {
    this.#gone = true;
    if (this.#crash !== undefined) this.#died("crash", "", this.#crash);
    else if (/heap out of memory|resident memory over the limit/.test(this.#output)) {
      this.#died("memory", `import needs more than ${this.#limits.memoryMb} MB of memory`);
    } else if (signal !== null) this.#died("exit", `the importing process was ended by ${signal}`);
    else
      this.#died(
        "exit",
        `the file ended its process with code ${code} while it was imported (process.exit?); it may only define`,
      );
  }

  #died(cause: Extract<ChildAnswer, { kind: "died" }>["cause"], message: string, error?: RawError): void {
    if (this.#current === undefined) return;
    const durationMs = Math.round(performance.now() - this.#current.startedAt);
    this.#settle({ kind: "died", cause, error: error ?? { code: `import_${cause}`, message }, durationMs });
    this.kill();
  }

  #settle(answer: ChildAnswer): void {
    clearTimeout(this.#timer);
    const current = this.#current;
    this.#current = undefined;
    current?.resolve(answer);
  }
}

const tooLong = (ms: number): string =>
  `${ms / 1000} s; look for a loop without end, a slow call or an await that never ends at the top level ` +
  "(of the file, of what it imports, of a DAG's function) and move it into a task";
