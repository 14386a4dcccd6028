import { Argument, type Command } from "commander";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** What comes next after a command's words. */
export interface Place {
  /** Words that lead here, without the program's name: `dags trigger`. */
  readonly path: string;
  /** Commands below it, with their descriptions. */
  readonly commands: readonly (readonly [name: string, description: string])[];
  readonly options: readonly CompletedOption[];
  /** Its first argument is the id of a DAG, the name of a profile, of a pool, or a file. */
  readonly first: "dag" | "profile" | "pool" | "file" | null;
  /** Words that its first argument may be. */
  readonly choices: readonly string[];
}

interface CompletedOption {
  readonly flags: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

export function completionCommand(program: Command): void {
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .description("a script that lets a shell complete commands, options and ids of DAGs")
    .addHelpText(
      "after",
      `
Examples:
  meridian completion bash > ~/.local/share/bash-completion/completions/meridian
  meridian completion zsh > "\${fpath[1]}/_meridian"
  meridian completion fish > ~/.config/fish/completions/meridian.fish
  source <(meridian completion bash)`,
    )
    .action(async (shell: (typeof SHELLS)[number]) => {
      const { script } = await import("./completion-scripts.ts");
      console.log(script(shell, placesOf(program)));
    });
}

/** Every command as a place, the program itself first. */
export function placesOf(program: Command): Place[] {
  const places: Place[] = [];
  const walk = (command: Command, path: string): void => {
    const help = command.createHelp();
    const commands = help.visibleCommands(command);
    const options = help.visibleOptions(command).map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
      description: option.description,
      takesValue: option.required || option.optional,
      choices: option.argChoices ?? [],
    }));
    const [first] = command.registeredArguments;
    places.push({
      path,
      commands: commands.map((below) => [below.name(), below.description()]),
      options,
      first: kindOf(path, first),
      choices: first?.argChoices ?? [],
    });
    for (const below of command.commands) walk(below, path === "" ? below.name() : `${path} ${below.name()}`);
  };
  walk(program, "");
  return places;
}

function kindOf(path: string, argument: Argument | undefined): Place["first"] {
  const name = argument?.name();
  if (name === "dag") return "dag";
  if (path.startsWith("profile ") && name === "name") return "profile";
  if (path.startsWith("pools ") && name === "name") return "pool";
  return name !== undefined && /^(?:file|paths)/.test(name) ? "file" : null;
}
