/** A bench of its own: its figures, printed as they come and written when all are there, and what it undoes at its end. */
import { rmSync } from "node:fs";
import { writeDocument } from "./document.ts";
import { defaultOut } from "./options.ts";
import { writeExtra } from "./results.ts";
import { undoAtEnd } from "./undo.ts";

const WIDTH = 76;

/** `home` is removed at the end; a smoke run writes nothing. */
export function aloneBench(name: string, home: string, isSmoke: boolean) {
  const figures: Record<string, number> = {};
  const undo = undoAtEnd((error) => {
    console.error(error);
    process.exitCode = 1;
  });
  undo.add(() => rmSync(home, { recursive: true, force: true }));
  return {
    undo,
    report: (what: string, value: number, unit: string): void => {
      const rounded = Number(value.toPrecision(4));
      figures[`${what} (${unit})`] = rounded;
      console.log(`${what.padEnd(WIDTH)} ${rounded} ${unit}`);
    },
    run: async (measure: () => Promise<void>): Promise<void> => {
      try {
        await measure();
        if (isSmoke) return;
        writeExtra(defaultOut(false), name, figures);
        writeDocument(defaultOut(false));
      } finally {
        await undo.run();
      }
    },
  };
}
