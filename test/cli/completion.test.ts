import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { placesOf } from "../../cli/completion.ts";
import { script } from "../../cli/completion-scripts.ts";
import { createProgram } from "../../cli/main.ts";

/** In place of the command: what a server would answer. Words show with which server it was asked. */
const COMMAND = `meridian() {
  case "$*" in
    "dags list --quiet --limit 1000") printf 'hello\\nsales_daily\\n' ;;
    "dags list --quiet --limit 1000 --profile prod") printf 'sales_prod\\n' ;;
    "pools list --quiet") printf 'default_pool\\n' ;;
    "profile list --quiet") printf 'prod\\n' ;;
  esac
}`;
const has = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).status === 0;
const scriptOf = (shell: "bash" | "zsh" | "fish"): string => script(shell, placesOf(createProgram()));
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

function run(shell: string, args: readonly string[], text: string): string[] {
  const { stdout, stderr } = spawnSync(shell, args, { input: text, encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((line) => line !== "");
}

const CASES: readonly (readonly [words: readonly string[], answer: readonly string[]])[] = [
  [["da"], ["dags"]],
  [["dags", "tr"], ["trigger"]],
  [
    ["dags", "trigger", ""],
    ["hello", "sales_daily"],
  ],
  [["dags", "trigger", "--conf", '{"a b": "c"}', "sa"], ["sales_daily"]],
  [["dags", "trigger", "--profile", "prod", "sa"], ["sales_prod"]],
  [["dags", "trigger", "hello", "--lo"], ["--logical-date"]],
  [["runs", "list", "--state", "f"], ["failed"]],
  [["dags", "list", "-o", "j"], ["json"]],
  [["dags", "list", "--profile", ""], ["prod"]],
  [["pools", "set", "de"], ["default_pool"]],
  [["completion", "b"], ["bash"]],
  [["dags", "nonsense", "zz"], []],
];

describe("F6: completion", { timeout: 60_000 }, () => {
  it.skipIf(!has("bash"))("in bash: commands, options and their values, ids", () => {
    const text = CASES.map(
      ([words]) =>
        `COMP_WORDS=(meridian ${words.map(quoted).join(" ")}); COMP_CWORD=${words.length}; _meridian; echo "\${COMPREPLY[*]}|"`,
    ).join("\n");
    expect(run("bash", ["--norc"], `${scriptOf("bash")}\n${COMMAND}\n${text}\n`)).toEqual(
      CASES.map(([, answer]) => `${answer.join(" ")}|`),
    );
  });

  it.skipIf(!has("zsh"))("in zsh, which leaves the choice by prefix to itself", () => {
    const text = CASES.map(
      ([words]) => `words=(meridian ${words.map(quoted).join(" ")}); CURRENT=${words.length + 1}; _meridian`,
    ).join("\n");
    const stub = 'compdef() {}\ncompadd() { shift; print -r -- "${(j: :)@}|"; }\n';
    const answers = run("zsh", ["-f"], `${stub}${scriptOf("zsh")}\n${COMMAND}\n${text}\n`);
    for (const [i, [words, answer]] of CASES.entries())
      expect(answers[i]!.slice(0, -1).split(" "), words.join(" ")).toEqual(
        expect.arrayContaining([...answer]),
      );
  });

  it.skipIf(!has("fish"))("in fish", () => {
    const fish = `function meridian
  switch "$argv"
    case 'dags list --quiet --limit 1000'
      printf 'hello\\nsales_daily\\n'
    case 'pools list --quiet'
      printf 'default_pool\\n'
    case 'profile list --quiet'
      printf 'prod\\n'
  end
end`;
    for (const [words, answer] of CASES.filter(
      ([given]) => !given.includes("prod") && !given.includes("--conf"),
    )) {
      const line = `meridian ${words.join(" ")}`;
      const text = `${scriptOf("fish")}\n${fish}\ncomplete -C '${line}'\n`;
      const found = run("fish", ["--no-config", "-c", text], "").map((one) => one.split("\t")[0]);
      expect(found, line).toEqual(answer);
    }
  });
});
