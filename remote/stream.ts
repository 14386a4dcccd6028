/** Server-sent events over `fetch`, which can carry a token; reconnected with the id of the last event. */
import { ApiError } from "./errors.ts";
import { type CallOptions, type Http, rest, type StreamOptions } from "./http.ts";

export interface ServerEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: string;
}

/** Three heartbeats of the server (15 s) without a byte: the connection is dead, whatever the socket believes. */
const SILENT_MS = 45_000;
const FIRST_REST_MS = 250;
const LONGEST_REST_MS = 5_000;

/**
 * Events until the signal ends it. A stream that breaks, or that the server closes, is opened again where it stopped;
 * a request that is refused (4xx) is thrown.
 */
export async function* follow(
  http: Http,
  path: string,
  options: StreamOptions & { readonly query?: object; readonly lastEventId?: string | undefined },
): AsyncGenerator<ServerEvent, void, undefined> {
  let lastId = options.lastEventId;
  for (let failures = 0; ; failures++) {
    options.signal?.throwIfAborted();
    const ending = new AbortController();
    const signal =
      options.signal === undefined ? ending.signal : AbortSignal.any([options.signal, ending.signal]);
    try {
      const headers = {
        accept: "text/event-stream",
        ...(lastId !== undefined && { "last-event-id": lastId }),
      };
      const response = await http.open(path, { query: options.query, headers, signal });
      for await (const event of eventsOf(response, () => ending.abort())) {
        failures = 0;
        if (event.id !== null) lastId = event.id;
        yield event;
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429)
        throw error;
    } finally {
      ending.abort();
    }
    options.onBreak?.();
    const restMs = Math.min(FIRST_REST_MS * 2 ** failures, LONGEST_REST_MS);
    await rest(restMs * (0.5 + Math.random() / 2), options.signal);
  }
}

async function* eventsOf(
  response: Response,
  onSilence: () => void,
): AsyncGenerator<ServerEvent, void, undefined> {
  const parse = eventParser();
  for await (const text of piecesOf(response, onSilence)) yield* parse(text);
}

async function* piecesOf(response: Response, onSilence: () => void): AsyncGenerator<string, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream() as never).getReader() as {
    read(): Promise<{ done: boolean; value?: string }>;
  };
  for (;;) {
    const timer = setTimeout(onSilence, SILENT_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done || value === undefined) return;
    yield value;
  }
}

/** The text of an answer of any size, as it arrives. A break in the middle is thrown: it cannot go on from there. */
export async function* textOf(
  http: Http,
  path: string,
  { signal, query }: CallOptions & { readonly query?: object },
): AsyncGenerator<string, void, undefined> {
  const ending = new AbortController();
  const either = signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]);
  try {
    const response = await http.open(path, { query, signal: either });
    yield* piecesOf(response, () => ending.abort());
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof ApiError) throw cause;
    throw new ApiError(0, "retryable", "api_away", `the answer of ${http.url} broke off`, { cause });
  } finally {
    ending.abort();
  }
}

/** A parser that is fed pieces of a stream and answers the events that became whole (WHATWG HTML, 9.2.6). */
export function eventParser(): (text: string) => ServerEvent[] {
  let buffer = "";
  let event = "";
  let id: string | null = null;
  let data: string[] = [];
  return (text) => {
    buffer += text;
    const events: ServerEvent[] = [];
    const lines = buffer.split(/\r\n|\n|\r(?!$)/);
    buffer = lines.pop()!;
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) events.push({ event: event || "message", id, data: data.join("\n") });
        event = "";
        data = [];
        continue;
      }
      const colon = line.indexOf(":");
      const name = colon === -1 ? line : line.slice(0, colon);
      const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (name === "data") data.push(value);
      else if (name === "event") event = value;
      else if (name === "id") id = value;
    }
    return events;
  };
}
