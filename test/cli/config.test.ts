import { describe, expect, it } from "vitest";
import { readConfig, SETTINGS, settingsInForce } from "../../platform/config.ts";

const refusal = (env: Record<string, string>): { code: string; message: string } => {
  try {
    readConfig(env);
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error(`${JSON.stringify(env)} was taken`);
};

describe("C12: settings", () => {
  it("without any, everything is embedded and has its default", () => {
    expect(readConfig({})).toMatchObject({
      home: ".meridian",
      dags: "dags",
      host: "127.0.0.1",
      port: undefined,
      databaseUrl: undefined,
      temporalAddress: undefined,
      temporalNamespace: "default",
      temporalTls: false,
      queues: ["default"],
      allowedHosts: [],
      lostAfterMs: 15_000,
      connections: {},
    });
  });

  it("an empty value counts as not given", () => {
    expect(readConfig({ DATABASE_URL: "", MERIDIAN_PORT: "" })).toMatchObject({
      databaseUrl: undefined,
      port: undefined,
    });
  });

  it("a misspelt name is refused with the one that was meant", () => {
    expect(refusal({ MERIDIAN_TRHEADS: "4" })).toMatchObject({
      code: "unknown_setting",
      message:
        'MERIDIAN_TRHEADS is not a setting of Meridian; did you mean "MERIDIAN_THREADS"?; `meridian config` lists them all',
    });
    expect(refusal({ MERIDIAN_COLOUR_OF_THE_SKY: "blue" }).message).not.toContain("did you mean");
  });

  it("names of other programs are left alone", () => {
    expect(() =>
      readConfig({ PATH: "/bin", TEMPORAL_CLI_PATH: "/x", MERIDIAN_TEST_FULL: "1" }),
    ).not.toThrow();
  });

  for (const [name, value, says] of [
    ["MERIDIAN_PORT", "http", "port of the API and the page"],
    ["MERIDIAN_PORT", "70000", "65535"],
    ["MERIDIAN_THREADS", "0", "runner threads for task bodies"],
    ["MERIDIAN_THREADS", "1.5", "expected a whole number from 1"],
    ["MERIDIAN_LOST_AFTER_MS", "5", "1000"],
    ["TEMPORAL_TLS", "yes", "use TLS"],
    ["MERIDIAN_LOG_LEVEL", "loud", "expected debug, info, warn or error"],
  ] as const) {
    it(`${name}=${value} is refused, naming the setting, the value and what is allowed`, () => {
      const { code, message } = refusal({ [name]: value });
      expect(code).toBe("bad_setting");
      expect(message).toContain(`${name}=${value} is not usable (`);
      expect(message).toContain(says);
    });
  }

  it("A13: MERIDIAN_CONN_NAME is a connection by its lower-case name, and in no error", () => {
    const secret = "postgres://u:s3cret@h/d";
    expect(readConfig({ MERIDIAN_CONN_WEATHER: secret }).connections).toEqual({ weather: secret });
    expect(refusal({ MERIDIAN_CONN_WEATHER: secret, MERIDIAN_PORT: "x" }).message).not.toContain("s3cret");
  });

  it("each setting has one name, a default to show and a line of help", () => {
    const all = Object.values(SETTINGS);
    expect(new Set(all.map((one) => one.env)).size).toBe(all.length);
    for (const one of all) {
      expect(one.env).toMatch(/^(MERIDIAN|TEMPORAL|DATABASE)_[A-Z_]+$/);
      expect(one.help.length).toBeGreaterThan(5);
      expect(one.default).not.toBe("");
    }
  });

  it("`meridian config` shows what is in force and where it comes from; no secret is among it", () => {
    const secret = "s3cret";
    const rows = settingsInForce({
      MERIDIAN_PORT: "9000",
      TEMPORAL_CLI_PATH: "/opt/temporal",
      DATABASE_URL: `postgres://me:${secret}@h/d?password=${secret}`,
      MERIDIAN_READER_URL: `not an address ${secret}`,
      TEMPORAL_API_KEY: secret,
      MERIDIAN_API_TOKEN: secret,
      MERIDIAN_CONN_WEATHER: secret,
      MERIDIAN_TOKN: secret,
    });
    const row = (name: string) => rows.find((one) => one.name === name);
    expect(row("MERIDIAN_PORT")).toMatchObject({ value: "9000", from: "environment", problem: null });
    expect(row("MERIDIAN_HOME")).toMatchObject({ value: ".meridian", from: "default" });
    expect(row("TEMPORAL_CLI_PATH")).toMatchObject({ value: "/opt/temporal" });
    expect(row("DATABASE_URL")?.value).toBe("postgres://me:***@h/d?password=***");
    expect(row("MERIDIAN_CONN_WEATHER")).toMatchObject({ value: "***", problem: null });
    expect(JSON.stringify(rows)).not.toContain(secret);
  });

  it("`meridian config` names every setting that is wrong or misspelt, not only the first", () => {
    const problems = settingsInForce({
      MERIDIAN_PROT: "1",
      MERIDIAN_THREADS: "0",
      TEMPORAL_TLS: "yes",
    }).flatMap(({ problem }) => problem ?? []);
    expect(problems).toEqual([
      expect.stringContaining("TEMPORAL_TLS=yes is not usable"),
      expect.stringContaining("MERIDIAN_THREADS=0 is not usable"),
      expect.stringContaining('did you mean "MERIDIAN_PORT"?'),
    ]);
  });
});
