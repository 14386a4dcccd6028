/** Problems of DAG files, as `meridian validate` tells them. */
import { relative } from "node:path";

export const FORMATS = ["text", "json", "annotations"] as const;
export type Format = (typeof FORMATS)[number];

export interface Problem {
  readonly severity: "error" | "warning";
  /** Stable; match on it. */
  readonly code: string;
  readonly message: string;
  /** Where to look: relative to the working folder. */
  readonly file: string;
  readonly line: number | null;
  readonly column: number | null;
  readonly stack: string | null;
}

export interface CheckedFile {
  readonly file: string;
  readonly dagIds: readonly string[];
  readonly importMs: number;
  readonly problems: readonly Problem[];
}

/** All of it on stdout, but for the summary beside annotations. */
export function print(checked: readonly CheckedFile[], output: Format): void {
  const problems = checked.flatMap((one) => one.problems);
  if (output === "json") {
    console.log(JSON.stringify({ ok: errorsOf(checked) === 0, files: checked }, null, 2));
    return;
  }
  for (const problem of problems) console.log(output === "text" ? asText(problem) : asAnnotation(problem));
  const dags = checked.reduce((sum, one) => sum + one.dagIds.length, 0);
  const errors = errorsOf(checked);
  const summary =
    `${counted(checked.length, "file")}, ${counted(dags, "DAG")}: ` +
    `${counted(errors, "error")}, ${counted(problems.length - errors, "warning")}`;
  // Whoever reads annotations reads all of stdout as commands.
  if (output === "text") console.log(summary);
  else console.error(summary);
}

export const errorsOf = (checked: readonly CheckedFile[]): number =>
  checked.flatMap((one) => one.problems).filter(({ severity }) => severity === "error").length;

const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;

function asText({ severity, code, message, file, line, column }: Problem): string {
  const place = [file, line, line === null ? null : column].filter((part) => part !== null).join(":");
  return `${place}  ${severity}  ${message}  (${code})`;
}

/** https://docs.github.com/actions/reference/workflow-commands-for-github-actions */
function asAnnotation({ severity, code, message, file, line, column }: Problem): string {
  const properties = {
    file,
    ...(line !== null && { line }),
    ...(line !== null && column !== null && { col: column }),
    title: code,
  };
  const escaped = (text: string) =>
    text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const property = (value: string | number) =>
    escaped(String(value)).replaceAll(":", "%3A").replaceAll(",", "%2C");
  const list = Object.entries(properties).map(([name, value]) => `${name}=${property(value)}`);
  return `::${severity} ${list.join(",")}::${escaped(message)}`;
}

/** As seen from the working folder, with `/`. */
export const shown = (path: string): string => relative("", path).replaceAll("\\", "/") || ".";
