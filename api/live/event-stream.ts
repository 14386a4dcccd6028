import type { Context } from "hono";

export interface SentEvent {
  readonly event: string;
  readonly id?: string;
  /** Sent as JSON, on one line. */
  readonly data: unknown;
}

/** Proxies close what is silent for a minute; a client takes three missing beats for a dead connection. */
const BEAT_MS = 15_000;
/** How long a browser rests before it opens a stream again. */
const RETRY_MS = 1_000;

/**
 * Events as a response (`text/event-stream`). The first one is awaited, so that what is refused is a plain problem;
 * each further one is only asked for when the socket has taken the last, so a slow reader costs no memory here. Ends
 * when the events do, the reader goes, or the server closes; the events hear of it wherever they stand.
 */
export async function eventStream(
  c: Context,
  closing: AbortSignal | undefined,
  open: (signal: AbortSignal) => AsyncGenerator<SentEvent, void>,
): Promise<Response> {
  const gone = new AbortController();
  const signal = closing === undefined ? gone.signal : AbortSignal.any([gone.signal, closing]);
  const events = open(signal);
  const first = await events.next();
  const encoder = new TextEncoder();
  let next: Promise<IteratorResult<SentEvent, void> | "end"> | null = Promise.resolve(first);
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`)),
      async pull(controller) {
        // Whatever goes wrong now ends the stream; who comes back is told by a plain answer.
        next ??= events.next().catch(() => "end");
        let timer: NodeJS.Timeout | undefined;
        const beat = new Promise<"beat">((resolve) => {
          timer = setTimeout(() => resolve("beat"), BEAT_MS);
        });
        const result = await Promise.race([next, beat]).finally(() => clearTimeout(timer));
        if (result === "beat") return controller.enqueue(encoder.encode(": beat\n\n"));
        next = null;
        if (result === "end" || result.done === true) return controller.close();
        controller.enqueue(encoder.encode(textOf(result.value)));
      },
      async cancel() {
        gone.abort();
        // Events that nobody asks for any more stand at a `yield`, where no signal is heard.
        await events.return();
      },
    },
    { highWaterMark: 1 },
  );
  // Not buffered by a proxy before us.
  c.header("X-Accel-Buffering", "no");
  c.header("Content-Type", "text/event-stream; charset=utf-8");
  return c.body(body);
}

const textOf = ({ event, id, data }: SentEvent): string =>
  `event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
