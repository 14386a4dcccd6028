#!/usr/bin/env node
// The sources are TypeScript; this stub makes them run on Node 20 too. Nothing is imported before the version is known.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Meridian needs Node 20.19 or later; this is ${process.versions.node}.`);
  process.exit(1);
}
const { register } = await import("tsx/esm/api").catch((error) => {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  console.error("Meridian's packages are not installed: run `npm install` first.");
  process.exit(1);
});
register();
const { main } = await import("./main.ts");
await main(process.argv);
