import { makeContext } from "../../../authoring/context.ts";
import { outcomeOf } from "../../../authoring/outcome.ts";
import { toOutput } from "../../../authoring/output.ts";
import type { BodyOutcome, LogLine } from "../../../core/body.ts";
import { tellOf } from "../../../core/decision.ts";
import { CELL, type JobText, type ToHost } from "../messages.ts";
import { Bundles } from "./bundles.ts";
import { connectionLookup } from "./connections.ts";
import { maskOf, type Mask } from "../../../platform/mask.ts";
import { Outbox } from "./outbox.ts";
import type { Port } from "./port.ts";
import { abort, inScope, live, type Scope } from "./scope.ts";
import { LARGE_BYTES, Spool } from "./spool.ts";
import { setCodeFolder, tidyStack } from "./stack.ts";

type Run = Extract<ToHost, { t: "run" }>;

/** As they are now: a body may replace them for its whole thread, and other tries must still be answered. */
const toText = JSON.stringify.bind(JSON);
const fromText = JSON.parse.bind(JSON);

/** Runs bodies as told, each in a scope of its own, and answers with their outcomes. */
export class BodyHost {
  readonly #port: Port;
  readonly #outbox: Outbox;
  readonly #bundles = new Bundles();
  #connection = connectionLookup({});
  #spool = new Spool("");
  #mask: Mask = (text) => text;

  constructor(port: Port) {
    this.#port = port;
    this.#outbox = new Outbox(port);
  }

  take(message: ToHost): void {
    if (message.t === "run") {
      Atomics.add(this.#port.cells, CELL.taken, 1);
      void this.#run(message);
    } else if (message.t === "abort") {
      const scope = live.get(message.n);
      if (scope !== undefined) abort(scope, stopError(message.reason));
    } else if (message.t === "start") {
      this.#connection = connectionLookup(message.connections);
      this.#mask = maskOf(message.connections);
      setCodeFolder(message.codeFolder);
      this.#spool = new Spool(message.spoolFolder);
    } else {
      process.exit(0);
    }
  }

  /** Ends a try before or instead of its body's own end; what the body still does is not heard. */
  end(scope: Scope, outcome: BodyOutcome): void {
    this.#answer(scope, toText(this.#tidy(outcome)));
  }

  /** For what leaves the thread by other ways than a try's log. */
  masked(text: string): string {
    return this.#mask(text);
  }

  retire(reason: string): void {
    this.#port.post({ t: "retire", reason });
  }

  async #run(message: Run): Promise<void> {
    const { n } = message;
    const scope: Scope = {
      n,
      controller: new AbortController(),
      log: (level, text) => {
        if (live.has(n)) this.#outbox.line(n, line(level, this.#mask(tidyStack(text))));
      },
      console: null,
      flush: null,
    };
    live.set(n, scope);
    this.#answer(scope, await inScope(scope, () => this.#outcomeText(message, scope)));
  }

  #answer(scope: Scope, outcome: string): void {
    scope.flush?.();
    if (!live.delete(scope.n)) return;
    this.#outbox.flush();
    this.#port.post({ t: "end", n: scope.n, outcome });
  }

  /** JSON of the outcome. */
  async #outcomeText(message: Run, scope: Scope): Promise<string> {
    try {
      const { context, inputs, inputFiles, asked, labelled } = fromText(message.job) as JobText;
      const { dag, body } = await this.#bundles.find(message.bundle, context.dagId, context.taskId);
      for (const [name, file] of Object.entries(inputFiles))
        inputs[name] = await this.#spool.input(name, file);
      scope.controller.signal.throwIfAborted();
      if (message.timed) this.#port.post({ t: "started", n: scope.n });
      const given = makeContext(context, inputs, {
        log: scope.log,
        signal: scope.controller.signal,
        connection: this.#connection,
      });
      if (labelled) this.#label(scope, () => dag.labelOf(context.taskId, given));
      const value = await this.#call(scope, () => body(given));
      const output = toOutput(value);
      if (output.ok) {
        const told = tellOf(value, asked);
        if ("error" in told) return toText({ kind: "failed", error: told.error } satisfies BodyOutcome);
        // The output is JSON already; what is told beside it is small.
        if (output.bytes <= LARGE_BYTES) return `{"kind":"success","output":${output.json}${fields(told)}}`;
        const spooled = { file: await this.#spool.write(output.json), bytes: output.bytes };
        return toText({ kind: "success", output: null, spooled, ...told } satisfies BodyOutcome);
      }
      return toText({ kind: "failed", error: output.error } satisfies BodyOutcome);
    } catch (thrown) {
      return toText(this.#tidy(outcomeOf(thrown)));
    }
  }

  /** A label that cannot be rendered is no reason to fail a try. */
  #label(scope: Scope, render: () => string | null): void {
    try {
      const label = render();
      if (label !== null) this.#port.post({ t: "label", n: scope.n, label: this.#mask(label) });
    } catch (error) {
      scope.log("warn", `this instance goes without a label: ${(error as Error).message}`);
    }
  }

  #tidy(outcome: BodyOutcome): BodyOutcome {
    if (outcome.kind !== "failed" && outcome.kind !== "timed_out") return outcome;
    const { message, stack } = outcome.error;
    const tidied = stack === undefined ? {} : { stack: this.#mask(tidyStack(stack)) };
    return { ...outcome, error: { ...outcome.error, message: this.#mask(message), ...tidied } };
  }

  /** While the first synchronous part runs, the runner can see whose it is, should it never end. */
  #call(scope: Scope, body: () => unknown): unknown {
    Atomics.store(this.#port.cells, CELL.current, scope.n);
    try {
      return body();
    } finally {
      Atomics.store(this.#port.cells, CELL.current, 0);
    }
  }
}

/** The fields of an object as JSON that goes on: `,"a":1`, or nothing. */
function fields(object: object): string {
  const text = toText(object);
  return text === "{}" ? "" : `,${text.slice(1, -1)}`;
}

const line = (level: LogLine["level"], text: string): LogLine => ({ at: Date.now(), level, text });

function stopError(reason: string): Error {
  const error = new Error(reason);
  error.name = "AbortError";
  return error;
}
