/** Which server a command talks to, and the client of it. */
import { userInfo } from "node:os";
import type { Command } from "commander";
import type { Client } from "../remote/index.ts";
import { runningApi } from "./api-url.ts";
import { UsageError } from "./failure.ts";
import { profileOf, readProfiles } from "./profiles.ts";

export interface ServerOptions {
  readonly url?: string;
  readonly profile?: string;
}

export function withServer(command: Command): Command {
  return command
    .option("--profile <name>", "server to talk to, by its profile (see `meridian profile`)")
    .option("--url <url>", "server to talk to, by its address");
}

interface Server {
  readonly url: string;
  readonly token?: string | undefined;
  /** What decided it. */
  readonly from: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The nearest word counts: an option before the environment, the environment before what `profile use` chose, and that
 * before the product that runs from `.meridian`. A profile's token goes to its own address alone.
 */
export function serverOf({ url, profile }: ServerOptions, env: Env = process.env): Server {
  if (url !== undefined && profile !== undefined) {
    throw new UsageError("bad_option", "--url and --profile name a server each: give one of them");
  }
  const token = env["MERIDIAN_API_TOKEN"] || undefined;
  if (url !== undefined) return { url, token, from: "--url" };
  if (profile !== undefined) return { ...profileOf(profile, env), from: `--profile ${profile}` };
  if (env["MERIDIAN_API_URL"]) return { url: env["MERIDIAN_API_URL"], token, from: "MERIDIAN_API_URL" };
  const named = env["MERIDIAN_PROFILE"];
  if (named) return { ...profileOf(named, env), from: "MERIDIAN_PROFILE" };
  const home = env["MERIDIAN_HOME"];
  if (home) return { url: runningApi(home), token, from: "MERIDIAN_HOME" };
  const { current } = readProfiles(env);
  if (current !== null) return { ...profileOf(current, env), from: `profile ${current}` };
  return { url: runningApi(".meridian"), token, from: "the data folder .meridian" };
}

/** Settings that a command beside the product reads; others are looked at only when one is there, as that takes time. */
const OWN = new Set([
  "MERIDIAN_HOME",
  "MERIDIAN_API_URL",
  "MERIDIAN_API_TOKEN",
  "MERIDIAN_PROFILE",
  "MERIDIAN_DAGS",
]);

async function checkSettings(env: Env): Promise<void> {
  if (!Object.keys(env).some((name) => name.startsWith("MERIDIAN_") && !OWN.has(name))) return;
  const { readConfig } = await import("../platform/config.ts");
  readConfig(env);
}

export async function connect(options: ServerOptions): Promise<Client> {
  await checkSettings(process.env);
  const { url, token } = serverOf(options);
  const { createClient } = await import("../remote/index.ts");
  return createClient({ url, token, user: `${userName()}@cli` });
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that has no name.
    return "anonymous";
  }
}
