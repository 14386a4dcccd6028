import { describe, expect, test } from "vitest";
import { ApiError, createClient } from "../../remote/index.ts";
import { eventParser } from "../../remote/stream.ts";

const url = "http://localhost:8080";
const stream = (...pieces: string[]) =>
  new Response(
    new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    }),
  );
const changes = (id: string, dag: string) =>
  `event: changes\nid: ${id}\ndata: ${JSON.stringify({ runs: [], cells: [], dags: [dag] })}\n\n`;

describe("F5: events", () => {
  test.each([
    ["whole", ["event: a\nid: 1\ndata: x\n\n"], [{ event: "a", id: "1", data: "x" }]],
    ["in pieces", ["eve", "nt: a\r\nda", "ta: x\r\n", "\r\n"], [{ event: "a", id: null, data: "x" }]],
    [
      "a line end torn in two",
      ["data: x\r", "\ndata: y\r", "\n\r", "\n"],
      [{ event: "message", id: null, data: "x\ny" }],
    ],
    [
      "comments and unknown fields",
      [": beat\n\nretry: 5\nfoo\ndata\n\n"],
      [{ event: "message", id: null, data: "" }],
    ],
    [
      "an id is kept",
      ["id: 7\ndata: a\n\ndata: b\n\n"],
      [
        { event: "message", id: "7", data: "a" },
        { event: "message", id: "7", data: "b" },
      ],
    ],
    ["half an event at the end", ["data: a\n"], []],
  ])("parsed: %s", (_what, pieces, events) => {
    const parse = eventParser();
    expect(pieces.flatMap((piece) => parse(piece))).toEqual(events);
  });

  test("a stream that breaks goes on where it stopped", async () => {
    const asked: (string | null)[] = [];
    const answers = [
      stream(changes("1", "a"), changes("2", "b")),
      stream("event: reload\nid: 3\ndata: {}\n\n"),
      stream(changes("4", "c")),
    ];
    const fetcher = ((_input: string, init: RequestInit) => {
      asked.push(new Headers(init.headers).get("last-event-id"));
      const answer = answers.shift();
      return answer === undefined ? Promise.reject(new TypeError("fetch failed")) : Promise.resolve(answer);
    }) as unknown as typeof fetch;
    const seen: unknown[] = [];
    const onBreak = () => seen.push("break");
    const events = createClient({ url, fetch: fetcher }).events({ dagId: "a", onBreak });
    for await (const { id, changes: what } of events) {
      seen.push([id, what?.dags ?? null]);
      if (id === "4") break;
    }
    expect(seen).toEqual([["1", ["a"]], ["2", ["b"]], "break", ["3", null], "break", ["4", ["c"]]]);
    expect(asked).toEqual([null, "2", "3"]);
  });

  test("a refused stream is an error, and a signal ends one", async () => {
    const refused = (() =>
      Promise.resolve(
        new Response(JSON.stringify({ code: "no_dag", detail: "no", details: {} }), { status: 404 }),
      )) as unknown as typeof fetch;
    const first = createClient({ url, fetch: refused }).events().next();
    await expect(first).rejects.toThrow(ApiError);
    const stop = new AbortController();
    const away = (() => Promise.reject(new TypeError("fetch failed"))) as unknown as typeof fetch;
    const waiting = createClient({ url, fetch: away }).events({ signal: stop.signal }).next();
    const reason = new Error("enough");
    setTimeout(() => stop.abort(reason), 10);
    await expect(waiting).rejects.toBe(reason);
  });

  test("a log is followed to its end", async () => {
    const fetcher = (() =>
      Promise.resolve(
        stream(
          `event: log\nid: 5\ndata: ${JSON.stringify({ text: "a\r\nb\n" })}\n\n`,
          `: beat\n\nevent: done\nid: 5\ndata: {}\n\n`,
        ),
      )) as unknown as typeof fetch;
    const log = createClient({ url, fetch: fetcher }).tasks.followLog({
      dagId: "d",
      runId: "r",
      taskId: "t",
      try: 1,
    });
    const pieces: unknown[] = [];
    for await (const piece of log) pieces.push(piece);
    expect(pieces).toEqual([{ text: "a\r\nb\n", nextOffset: 5 }]);
  });
});

describe("F5: waiting for a run", () => {
  const runWith = (state: string) => ({ dagId: "d", runId: "r", state, cells: [] });
  /** A run that ends after `reads` reads; the stream says once that it moved. */
  function api(reads: number, streams: (() => Response | Error)[]) {
    let left = reads;
    return ((input: string) => {
      if (input.includes("/events")) {
        const answer = streams.shift()?.() ?? new TypeError("fetch failed");
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      }
      left -= 1;
      return Promise.resolve(new Response(JSON.stringify(runWith(left > 0 ? "running" : "failed"))));
    }) as unknown as typeof fetch;
  }
  const moved = `event: changes\nid: 1\ndata: ${JSON.stringify({ runs: [runWith("failed")], cells: [], dags: [] })}\n\n`;

  test("an event ends the wait before the next look", async () => {
    const states: string[] = [];
    const client = createClient({ url, fetch: api(2, [() => stream(moved)]) });
    const began = performance.now();
    const run = await client.runs.wait("d", "r", { onRun: ({ state }) => states.push(state) });
    expect(run.state).toBe("failed");
    expect(states).toEqual(["running", "failed"]);
    expect(performance.now() - began).toBeLessThan(1_900);
  });

  test("without a stream, by looking", async () => {
    expect((await createClient({ url, fetch: api(2, []) }).runs.wait("d", "r")).state).toBe("failed");
  });

  test("a wait that is given up says so, and a signal ends it", async () => {
    const client = createClient({ url, fetch: api(1_000_000, []) });
    await expect(client.runs.wait("d", "r", { timeoutMs: 30 })).rejects.toMatchObject({
      code: "wait_timeout",
    });
    const stop = AbortSignal.abort(new Error("enough"));
    await expect(client.runs.wait("d", "r", { signal: stop })).rejects.toThrow("enough");
  });
});

describe("F5: a large output", () => {
  const of = { dagId: "a", runId: "r", taskId: "t", try: 1 };
  const client = (answer: Response, asked: string[] = []) =>
    createClient({
      url,
      fetch: ((input: string) => {
        asked.push(input);
        return Promise.resolve(answer);
      }) as unknown as typeof fetch,
    });

  test("comes in pieces, letters torn in two made whole", async () => {
    const torn = new TextEncoder().encode('"é"');
    const answer = new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(torn.slice(0, 2));
          controller.enqueue(torn.slice(2));
          controller.close();
        },
      }),
    );
    const asked: string[] = [];
    let text = "";
    for await (const piece of client(answer, asked).tasks.outputText({ ...of, mapIndex: 3 })) text += piece;
    expect(text).toBe('"é"');
    expect(asked).toEqual([`${url}/api/v1/dags/a/runs/r/tasks/t/tries/1/output?mapIndex=3`]);
  });

  test("one that breaks off is an error, never half an output that looks whole", async () => {
    let sent = 0;
    const answer = new Response(
      new ReadableStream({
        pull: (controller) => {
          sent += 1;
          if (sent === 1) controller.enqueue(new TextEncoder().encode("[1,"));
          else controller.error(new TypeError("terminated"));
        },
      }),
    );
    const pieces: string[] = [];
    const read = async (): Promise<void> => {
      for await (const piece of client(answer).tasks.outputText(of)) pieces.push(piece);
    };
    await expect(read()).rejects.toMatchObject({
      code: "api_away",
      message: `the answer of ${url} broke off`,
    });
    expect(pieces).toEqual(["[1,"]);
  });
});
