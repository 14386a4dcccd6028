import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { createProgram } from "../../cli/main.ts";
import { configHelp } from "../../platform/config.ts";

/** The help of a command and of all below it. */
function helpOf(command: Command, names: readonly string[] = []): string[] {
  const path = [...names, command.name()];
  // As wide as a page of text, whatever the terminal of whoever runs this.
  command.configureHelp({ helpWidth: 100 });
  return [
    `$ ${path.join(" ")} --help\n${command.helpInformation()}`,
    ...command.commands.flatMap((below) => helpOf(below, path)),
  ];
}

describe("C1: what the command line says of itself (`npm run generated` writes it)", () => {
  it("the help of every command", async () => {
    await expect(`${helpOf(createProgram()).join("\n")}`).toMatchFileSnapshot("help.txt");
  });

  it("the list of settings", async () => {
    await expect(`${configHelp()}\n`).toMatchFileSnapshot("config.txt");
  });

  it("every command and option has a line of help", () => {
    const missing: string[] = [];
    const walk = (command: Command, path: string): void => {
      if (command.description() === "") missing.push(path);
      for (const option of command.options)
        if (option.description === "") missing.push(`${path} ${option.flags}`);
      for (const below of command.commands) walk(below, `${path} ${below.name()}`);
    };
    walk(createProgram(), "meridian");
    expect(missing).toEqual([]);
  });
});
