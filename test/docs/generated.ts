import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import {
  DAG_OPTIONS,
  GROUP_OPTIONS,
  SWITCH_OWN_OPTIONS,
  TASK_DEFAULTS,
  TASK_OPTIONS,
  type Option,
} from "../../authoring/options.ts";
import {
  SENSOR_OWN_OPTIONS,
  WAIT_FOR_OPTIONS,
  WAIT_FOR_RUN_OPTIONS,
  WAIT_UNTIL_OPTIONS,
} from "../../authoring/wait-options.ts";
import { connectionVariable } from "../../authoring/connection.ts";
import { createProgram } from "../../cli/main.ts";
import { SETTINGS } from "../../platform/config.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Every text for people, relative to the root. */
export const DOCUMENTS: readonly string[] = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "bench/README.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`)
    .sort(),
];

export const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The document with its generated parts as they are to be. */
export function withGenerated(text: string): string {
  return text
    .replaceAll(
      /(<!-- from: (\S+) -->\n```ts\n)[\s\S]*?(```)/g,
      (_, open: string, path: string, close: string) => {
        return `${open}${read(path)}${close}`;
      },
    )
    .replaceAll(/(<!-- settings -->\n)[\s\S]*?(<!-- \/settings -->)/g, (_, open: string, close: string) => {
      return `${open}\n${settingsTable()}\n\n${close}`;
    })
    .replaceAll(/(<!-- commands -->\n)[\s\S]*?(<!-- \/commands -->)/g, (_, open: string, close: string) => {
      return `${open}\n${commandsTable()}\n\n${close}`;
    })
    .replaceAll(
      /(<!-- options: (dag|task|group|switch|sensor|waitFor|waitUntil|waitForRun) -->\n)[\s\S]*?(<!-- \/options -->)/g,
      (_, open: string, which: keyof typeof OPTIONS, close: string) =>
        `${open}\n${optionsTable(which)}\n\n${close}`,
    );
}

function commandsTable(): string {
  const rows: string[][] = [];
  const walk = (command: Command, path: string): void => {
    for (const below of command.commands) {
      const words = below.registeredArguments.map((one) =>
        one.required ? one.name().toUpperCase() : `[${one.name().toUpperCase()}]`,
      );
      if (below.commands.length > 0) walk(below, `${path}${below.name()} `);
      else rows.push([`\`${path}${[below.name(), ...words].join(" ")}\``, below.description()]);
    }
  };
  walk(createProgram(), "");
  return table(["`meridian` …", "what it does"], rows);
}

function settingsTable(): string {
  const rows = Object.values(SETTINGS).map(({ env, default: fallback, help }) => [
    `\`${env}\``,
    fallback,
    help,
  ]);
  rows.push([`\`${connectionVariable("name")}\``, "none", "connection `name` for task bodies"]);
  return table(["name", "default", "what"], rows);
}

const OPTIONS = {
  dag: DAG_OPTIONS,
  task: TASK_OPTIONS,
  group: GROUP_OPTIONS,
  switch: SWITCH_OWN_OPTIONS,
  sensor: SENSOR_OWN_OPTIONS,
  waitFor: WAIT_FOR_OPTIONS,
  waitUntil: WAIT_UNTIL_OPTIONS,
  waitForRun: WAIT_FOR_RUN_OPTIONS,
};

function optionsTable(which: keyof typeof OPTIONS): string {
  const options: Readonly<Record<string, Option<unknown>>> = OPTIONS[which];
  return table(
    ["option", "default", "unit", "what", "rule from"],
    Object.entries(options).map(([name, { fallback, unit, doc, rule }]) => [
      `\`${name}\`${name in TASK_DEFAULTS && which === "task" ? " †" : ""}`,
      JSON.stringify(fallback) ?? "",
      unit ?? "",
      doc,
      rule,
    ]),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}
