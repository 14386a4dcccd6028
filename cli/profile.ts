import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { serverOf } from "./connect.ts";
import { UsageError } from "./failure.ts";
import { printJson, printList, say, withQuiet, withTable, type Output, type Table } from "./output.ts";
import { checkProfileName, profileOf, profilesFile, readProfiles, writeProfiles } from "./profiles.ts";

/** What may be shown of a profile; a token never is. */
interface Shown {
  readonly name: string;
  readonly url: string;
  readonly token: "set" | "none";
  readonly current: boolean;
}

const PROFILES: Table<Shown> = {
  columns: {
    name: (one) => one.name,
    url: (one) => one.url,
    token: (one) => one.token,
    current: (one) => (one.current ? "current" : null),
  },
  shown: ["name", "url", "token", "current"],
  id: (one) => one.name,
};

function shown(): Shown[] {
  const { current, profiles } = readProfiles();
  return Object.entries(profiles)
    .map(([name, { url, token }]) => ({
      name,
      url,
      token: token === undefined ? ("none" as const) : ("set" as const),
      current: name === current,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function done(name: string, text: string, options: Output): void {
  if (options.output === "json")
    printJson(shown().find((one) => one.name === name) ?? { name, deleted: true });
  else say(options, text);
}

/** `meridian profile …`: servers by name. */
export function profileCommands(program: Command): void {
  const profile = program.command("profile").description("servers by name: list, set, use, delete");
  withTable(profile.command("list"), PROFILES)
    .description("all profiles; tokens are not shown")
    .addHelpText("after", "\nExample:\n  meridian profile list")
    .action((options: Output) => {
      printList(shown(), PROFILES, options);
      say(options, inForce());
    });
  withQuiet(profile.command("set <name>"))
    .description("make a profile or change it; what is not given stays")
    .option("--url <url>", "address of the API, such as https://meridian.example")
    .option("--token-stdin", "read its token from stdin, where no process list shows it")
    .option("--no-token", "forget its token")
    .addHelpText(
      "after",
      "\nExamples:\n  meridian profile set prod --url https://meridian.example\n  cat token.txt | meridian profile set prod --token-stdin",
    )
    .action((name: string, options: Output & { url?: string; tokenStdin?: true; token: boolean }) => {
      checkProfileName(name);
      const known = readProfiles();
      const before = Object.hasOwn(known.profiles, name) ? known.profiles[name] : undefined;
      const url = options.url ?? before?.url;
      if (url === undefined)
        throw new UsageError("bad_option", `profile "${name}" is new: give its address by --url`);
      if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
        throw new UsageError("bad_url", `--url ${url}: expected one such as http://127.0.0.1:8080`);
      // A token is for the server it was given for.
      const kept = url === before?.url && options.token ? before.token : undefined;
      const token = options.tokenStdin === true ? tokenFromStdin() : kept;
      if (before?.token !== undefined && token === undefined && options.token)
        say(options, `its token was for ${before.url} and is forgotten`);
      const profiles = { ...known.profiles, [name]: { url, ...(token !== undefined && { token }) } };
      writeProfiles({ ...known, profiles });
      done(name, `profile ${name} is set, in ${profilesFile()}`, options);
    });
  withQuiet(profile.command("use <name>"))
    .description("talk to this server where no other is named")
    .addHelpText("after", "\nExample:\n  meridian profile use prod")
    .action((name: string, options: Output) => {
      profileOf(name);
      writeProfiles({ ...readProfiles(), current: name });
      done(name, `commands talk to ${name} now`, options);
    });
  withQuiet(profile.command("delete <name>"))
    .description("forget a profile and its token")
    .addHelpText("after", "\nExample:\n  meridian profile delete prod")
    .action((name: string, options: Output) => {
      profileOf(name);
      const { current, profiles } = readProfiles();
      const left = Object.fromEntries(Object.entries(profiles).filter(([one]) => one !== name));
      writeProfiles({ current: current === name ? null : current, profiles: left });
      done(name, `profile ${name} is deleted`, options);
    });
}

function inForce(): string {
  try {
    const { url, from } = serverOf({});
    return `commands talk to ${url} (${from})`;
  } catch (error) {
    return (error as Error).message;
  }
}

function tokenFromStdin(): string {
  const token = readFileSync(0, "utf8").trim();
  if (/^[\x21-\x7E]+$/.test(token)) return token;
  throw new UsageError("bad_token", "--token-stdin: expected a token of printable characters on stdin");
}
