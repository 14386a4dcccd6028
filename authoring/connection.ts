import { Terminal } from "../core/errors.ts";

/** The environment variable that holds a connection: `weather` → `MERIDIAN_CONN_WEATHER`. */
export function connectionVariable(name: string): string {
  return `MERIDIAN_CONN_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`;
}

/**
 * Reads connections from an environment, at the moment a body asks for one. Values are secrets: they appear in no
 * message.
 *
 * @example
 * const connection = connectionsFrom(process.env);
 * connection("weather"); // the value of MERIDIAN_CONN_WEATHER
 */
export function connectionsFrom(env: Readonly<Record<string, string | undefined>>): (name: string) => string {
  return (name) => {
    const variable = connectionVariable(name);
    const value = env[variable];
    if (value !== undefined && value !== "") return value;
    throw new Terminal(
      "connection_missing",
      `connection ${JSON.stringify(name)} is not set where this task runs; set the environment variable ${variable}`,
    );
  };
}
