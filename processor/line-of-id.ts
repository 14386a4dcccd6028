import { readFileSync } from "node:fs";

/** The line of a file on which an id stands as a text; undefined when the code makes it. */
export function lineOfId(file: string, dagId: string): number | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
  const quoted = [`"${dagId}"`, `'${dagId}'`, `\`${dagId}\``];
  const line = text.split("\n").findIndex((one) => quoted.some((id) => one.includes(id)));
  return line === -1 ? undefined : line + 1;
}
