// A debugger in small: waits for the code made of a TypeScript file, stops at a line of it, tells a variable, lets go.
// Arguments: address of the inspector, end of the file's path, line.
import { SourceMap } from "node:module";

const [url, file, lineText] = process.argv.slice(2);
const line = Number(lineText);
const socket = new WebSocket(url);
const answers = new Map();
let last = 0;

function send(method, params = {}) {
  last += 1;
  socket.send(JSON.stringify({ id: last, method, params }));
  return new Promise((resolve) => answers.set(last, resolve));
}

/** Where the code has the line, and the way back. */
function placeIn(map, code) {
  const rows = code.split("\n");
  for (const [row, text] of rows.entries()) {
    for (let column = 0; column < text.length; column++) {
      const entry = map.findEntry(row, column);
      if (entry.originalSource?.endsWith(file) && entry.originalLine === line - 1)
        return { lineNumber: row, columnNumber: column };
    }
  }
  return null;
}

let map = null;
let parsing = Promise.resolve();
socket.onmessage = async ({ data }) => {
  const { id, result, method, params } = JSON.parse(data);
  if (id !== undefined) return answers.get(id)?.(result);
  if (method === "Debugger.scriptParsed") parsing = Promise.all([parsing, parsed(params)]);
  if (method === "Debugger.paused") await paused(params);
};

async function parsed({ scriptId, sourceMapURL }) {
  if (!sourceMapURL?.startsWith("data:")) return;
  const payload = JSON.parse(Buffer.from(sourceMapURL.split(",")[1], "base64").toString());
  const sources = payload.sources.map((source) => new URL(source, payload.sourceRoot || "file:///").href);
  if (!sources.some((source) => source.endsWith(file))) return;
  map = new SourceMap({ ...payload, sources, sourceRoot: "" });
  const { scriptSource } = await send("Debugger.getScriptSource", { scriptId });
  await send("Debugger.setBreakpoint", { location: { scriptId, ...placeIn(map, scriptSource) } });
}

async function paused({ callFrames: [frame], reason }) {
  await parsing;
  const { lineNumber, columnNumber } = frame.location;
  const entry = reason === "instrumentation" ? undefined : map?.findEntry(lineNumber, columnNumber);
  if (entry?.originalLine !== line - 1) return void (await send("Debugger.resume"));
  const { result } = await send("Debugger.evaluateOnCallFrame", {
    callFrameId: frame.callFrameId,
    expression: "total",
  });
  console.log(JSON.stringify({ line: entry.originalLine + 1, total: result.value }));
  await send("Debugger.resume");
  socket.close();
}

await new Promise((open) => (socket.onopen = open));
await send("Debugger.enable");
// As debuggers do: code with a map is held until the breakpoints in it are set.
await send("Debugger.setInstrumentationBreakpoint", {
  instrumentation: "beforeScriptWithSourceMapExecution",
});
await send("Runtime.runIfWaitingForDebugger");
