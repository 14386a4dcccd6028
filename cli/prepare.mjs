// Runs at `npm install` of a clone. Whatever keeps it from building must not undo an install: `npm start` builds it too.
try {
  const { register } = await import("tsx/esm/api");
  register();
  const { buildClient } = await import("./package-build.ts");
  await buildClient();
} catch (error) {
  console.warn(`dist/client.js is not built, which \`npm start\` does as well: ${error.message}`);
}
