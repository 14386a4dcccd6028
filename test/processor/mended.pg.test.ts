import { expect, test } from "vitest";
import { useRig } from "./rig.ts";
import { dagText, makeLog } from "./support.ts";

const rig = useRig();

test("the log has a line for a file that is stored, one that breaks, and one that is fine again, though as before", async () => {
  const { lines, log } = makeLog();
  const processor = rig.processor({ log });
  rig.place.write("sales.ts", dagText("sales"));
  await processor.pass();
  expect(lines.splice(0)).toEqual(["info DAGs stored"]);
  rig.place.write("sales.ts", "import { dag } from 'meridian'; throw new Error('no');");
  await processor.pass();
  expect(lines.splice(0)).toEqual([expect.stringMatching(/^warn sales\.ts:\d+:\d+: .*no/)]);
  rig.place.write("sales.ts", dagText("sales"));
  await processor.pass();
  expect(lines.splice(0)).toEqual(["info sales.ts is fine again"]);
  await processor.pass();
  expect(lines).toEqual([]);
});

test("a broken file's error is told once for each save of it or of what it imports, not each time it is met", async () => {
  const { lines, log } = makeLog();
  const processor = rig.processor({ log });
  rig.place.write("lib/why.ts", 'export const why = "!1";\n');
  rig.place.write(
    "sales.ts",
    `import { why } from "./lib/why.ts";\n${dagText("sales")}throw new Error("no" + why.slice(0, 1));\n`,
  );
  await processor.pass();
  expect(lines.splice(0)).toEqual([expect.stringMatching(/^warn sales\.ts:\d+:\d+: .*no!/)]);
  rig.place.write("other.ts", dagText("other"));
  await processor.pass();
  await processor.pass();
  expect(lines.splice(0)).toEqual(["info DAGs stored"]);
  rig.place.write("lib/why.ts", 'export const why = "!22";\n');
  await processor.pass();
  await processor.pass();
  expect(lines.splice(0)).toEqual([expect.stringMatching(/^warn sales\.ts:\d+:\d+: .*no!/)]);
});
