#!/usr/bin/env node
// The sources are TypeScript; this stub makes them run on Node 20 too. Nothing is imported before the version is known.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Meridian needs Node 20.19 or later; this is ${process.versions.node}.`);
  process.exit(1);
}
const { register } = await import("tsx/esm/api");
register();
const { main } = await import("./main.ts");
await main(process.argv);
