import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { dagText, makeWorkplace, type Workplace } from "../processor/support.ts";

const MERIDIAN = fileURLToPath(new URL("../../cli/meridian.mjs", import.meta.url));

let place: Workplace;
/** The working folder: the project, with its DAGs in `dags`. */
let project: string;
beforeEach(() => {
  place = makeWorkplace();
  project = dirname(place.folder);
  mkdirSync(join(project, "node_modules"));
});
afterEach(() => place.remove());

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `meridian validate` in the project; no server and no database is named. */
const validate = async (...args: string[]): Promise<Ended> => await validateWith({}, ...args);

const validateWith = async (settings: Record<string, string>, ...args: string[]): Promise<Ended> =>
  await new Promise((resolve) => {
    const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], ...settings };
    execFile(
      process.execPath,
      [MERIDIAN, "validate", ...args],
      { cwd: project, env },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });

/** `[file, line, code]` of each error. */
async function problems(...args: string[]): Promise<[string, number | null, string][]> {
  const { stdout } = await validate("--output", "json", ...args);
  const { files } = JSON.parse(stdout) as {
    files: { problems: { file: string; line: number | null; code: string }[] }[];
  };
  return files.flatMap((one) =>
    one.problems.map(({ file, line, code }): [string, number | null, string] => [file, line, code]),
  );
}

test(
  "A15, K60, K62, K64: every kind of problem, with the author's line, each in its own file",
  { timeout: 120_000 },
  async () => {
    const withTasks = (id: string, body: string) =>
      `import { dag, task } from "meridian";\nimport { z } from "zod";\nvoid z;\n${body.replace("$", `dag("${id}", {}, () => {`)}\n`;
    mkdirSync(join(project, "node_modules/chatty"), { recursive: true });
    writeFileSync(
      join(project, "node_modules/chatty/index.js"),
      'require("node:net").connect(9, "127.0.0.1").on("error", () => {});\n',
    );
    writeFileSync(
      join(project, "node_modules/chatty/package.json"),
      '{ "name": "chatty", "version": "1.0.0" }',
    );
    const files: Record<string, string> = {
      "budget.ts": `${dagText("budget")}const until = performance.now() + 3_000;\nwhile (performance.now() < until);\n`,
      "clock.ts": dagText("clock", "{ startDate: new Date() }"),
      "cycle.ts": withTasks(
        "cycle",
        '$\n  const a = task("a", () => 1);\n  const b = task("b", { after: [a] }, () => 2);\n  b.before(a);\n});',
      ),
      "exit.ts": `${dagText("exit")}process.exit(0);\n`,
      "good.ts": dagText("good"),
      "network.ts": `${dagText("network")}await fetch("http://127.0.0.1:9/");\n`,
      "no_dag.ts": 'const dag = (text: string): string => text;\nexport default dag("x");\n',
      "option.ts": `import { dag, task } from "meridian";\ndag("option", {}, () => {\n  task("t", { retires: 2 }, () => 1);\n});\n`,
      "package.ts": `import "chatty";\n${dagText("package")}`,
      "random.ts": dagText("random", "{ description: String(Math.random()) }"),
      "syntax.ts": `${dagText("syntax")}const = 1;\n`,
      "throws.ts": `${dagText("throws")}\nthrow new TypeError("no");\n`,
      "twice_a.ts": dagText("twice"),
      "twice_b.ts": `// One line down.\n${dagText("twice")}`,
      "upstream.ts": `import { dag, task, type TaskRef } from "meridian";
const lost: TaskRef<number>[] = [];
dag("one", {}, () => void lost.push(task("t", () => 1)));
dag("two", {}, () => {
  task("u", { after: lost }, () => 2);
});
`,
    };
    for (const [path, text] of Object.entries(files)) place.write(path, text);
    expect(await problems("--budget-ms", "2500")).toEqual([
      ["dags/budget.ts", null, "import_budget"],
      ["dags/clock.ts", 2, "clock_at_import"],
      ["dags/cycle.ts", 4, "cycle"],
      ["dags/exit.ts", null, "import_exit"],
      ["dags/network.ts", 5, "network_at_import"],
      ["dags/no_dag.ts", null, "no_dag"],
      ["dags/option.ts", 3, "unknown_option"],
      ["dags/package.ts", null, "network_at_import"],
      ["dags/random.ts", 2, "random_at_import"],
      ["dags/syntax.ts", 5, "bundle_failed"],
      ["dags/throws.ts", 6, "TypeError"],
      ["dags/twice_a.ts", 2, "duplicate_dag"],
      ["dags/twice_b.ts", 3, "duplicate_dag"],
      ["dags/upstream.ts", 5, "foreign_upstream"],
    ]);

    const text = await validate("dags/clock.ts", "dags/good.ts", "dags/no_dag.ts");
    expect(text.code).toBe(1);
    expect(text.stdout.split("\n")[0]).toMatch(
      /^dags\/clock\.ts:2:\d+ {2}error {2}new Date\(\) at import: .* \(clock_at_import\)$/,
    );
    expect(text.stdout).toMatch(/^3 files, 1 DAG: 1 error, 1 warning$/m);

    const syntax = await validate("dags/syntax.ts");
    expect(syntax.stdout.split("\n")[0], "its place once").toMatch(
      /^dags\/syntax\.ts:5:7 {2}error {2}Expected [^:]*\(bundle_failed\)$/,
    );

    const fine = await validate("dags/good.ts", "dags/no_dag.ts");
    expect([fine.code, fine.stderr], "a warning is no error").toEqual([0, ""]);
  },
);

test(
  "A1, A15: a factory's file is checked and its module is not blamed; a stray task is an error; what does nothing is a warning",
  { timeout: 60_000 },
  async () => {
    place.write(
      "lib/make.ts",
      'import { dag, task } from "meridian";\nexport const make = (id: string) => dag(id, {}, () => void task("t", () => 1));\n',
    );
    place.write("factory.ts", 'import { make } from "./lib/make.ts";\nexport const one = make("one");\n');
    place.write("stray.ts", 'import { task } from "meridian";\n\ntask("stray", () => 1);\n');
    place.write(
      "unused.ts",
      'import { task } from "meridian";\nexport const later = () => task("t", () => 1);\n',
    );
    place.write("empty.ts", 'import { dag } from "meridian";\n\ndag("nothing_to_do", {}, () => {});\n');
    const { stdout } = await validate("--output", "json");
    const { files } = JSON.parse(stdout) as {
      files: {
        file: string;
        dagIds: string[];
        problems: { severity: string; code: string; line: number }[];
      }[];
    };
    expect(
      files.map(({ file, dagIds, problems }) => [
        file,
        dagIds.join(),
        ...problems.map(({ severity, code, line }) => `${severity} ${code} ${line}`),
      ]),
    ).toEqual([
      ["dags/empty.ts", "nothing_to_do", "warning empty_dag 3"],
      ["dags/factory.ts", "one"],
      ["dags/lib/make.ts", ""],
      ["dags/stray.ts", "", "error task_outside_dag 3"],
      ["dags/unused.ts", "", "warning no_dag null"],
    ]);
    const alone = await validate("dags/lib/make.ts");
    expect([alone.code, alone.stdout]).toEqual([0, "1 file, 0 DAGs: 0 errors, 0 warnings\n"]);
  },
);

test(
  "A15, K60: files that share an id are named as the command names them",
  { timeout: 60_000 },
  async () => {
    place.write("team/a.ts", dagText("shared"));
    place.write("b.ts", dagText("shared"));
    const { stdout } = await validate("dags/b.ts");
    expect(stdout).toMatch(
      /^dags\/b\.ts:2 {2}error {2}dag "shared" is defined by dags\/b\.ts and dags\/team\/a\.ts: .* all but one {2}\(duplicate_dag\)$/m,
    );
  },
);

test(
  "A15: annotations are GitHub's commands, and nothing else on stdout; other folders work",
  { timeout: 60_000 },
  async () => {
    const error = 'throw new Error("50%\\nof it: a, b");\n';
    place.write("../team dags/odd,name.ts", `${dagText("odd")}${error}`);
    const { code, stdout, stderr } = await validate("team dags", "--output", "annotations");
    expect(code).toBe(1);
    expect(stdout).toBe(
      "::error file=team dags/odd%2Cname.ts,line=5,col=7,title=Error::50%25%0Aof it: a, b\n",
    );
    expect(stderr).toBe("1 file, 0 DAGs: 1 error, 0 warnings\n");
  },
);

test("A15: what is called wrongly ends with 2", { timeout: 60_000 }, async () => {
  mkdirSync(join(project, "empty"));
  place.write("x.py", "dag(1)\n");
  for (const [args, message] of [
    [["nothing.ts"], "nothing.ts does not exist"],
    [["empty"], "no DAG file below empty"],
    [["dags/x.py"], "dags/x.py is no DAG file"],
    [["--output", "xml"], "expected text, json, annotations"],
    [["--budget-ms", "0"], "expected a whole number of milliseconds from 1"],
    [["--bugdet-ms", "1"], "unknown option"],
  ] as const) {
    const { code, stderr } = await validate(...args);
    expect({ args, code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message) as string,
    });
  }
});

test(
  "A15: --changed-since takes what changed since the branch began, and what imports it",
  { timeout: 120_000 },
  async () => {
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", "-C", project, ...args], {
        stdio: "pipe",
      }).toString();
    const uses = (id: string) => `import { rate } from "./lib/rate.ts";\n${dagText(id, "{}", "() => rate")}`;
    place.write("../.gitignore", "node_modules\n.meridian\n");
    place.write("lib/rate.ts", "export const rate = 1;\n");
    place.write("uses.ts", uses("uses"));
    place.write("calm.ts", dagText("calm"));
    place.write("renamed.ts", dagText("renamed"));
    place.write("ours.ts", dagText("ours"));
    git("init", "-q", "-b", "main");
    git("add", ".");
    git("commit", "-qm", "first");
    git("checkout", "-qb", "topic");
    const checked = async (...args: string[]) => {
      const { stdout, code } = await validate("--output", "json", "--changed-since", "main", ...args);
      const { files } = JSON.parse(stdout) as { files: { file: string; problems: { code: string }[] }[] };
      return { code, files: files.map((one) => [one.file, ...one.problems.map((problem) => problem.code)]) };
    };
    expect(await checked()).toEqual({ code: 0, files: [] });

    place.write("lib/rate.ts", "export const rate = 2;\n");
    git("commit", "-qam", "rate");
    git("mv", "dags/renamed.ts", "dags/new_name.ts");
    // Not committed, and of an id that a file has which did not change.
    place.write("fresh.ts", dagText("calm"));
    git("checkout", "-q", "main");
    git("checkout", "-q", "topic");
    expect(await checked()).toEqual({
      code: 1,
      files: [["dags/fresh.ts", "duplicate_dag"], ["dags/new_name.ts"], ["dags/uses.ts"]],
    });
    place.unlink("fresh.ts");

    // What came to main meanwhile is not this branch's.
    git("stash", "-q");
    git("checkout", "-q", "main");
    place.write("ours.ts", dagText("ours", "{}", "() => 2"));
    git("commit", "-qam", "of main");
    git("checkout", "-q", "topic");
    expect((await checked()).files).toEqual([["dags/uses.ts"]]);
    place.write("../package-lock.json", "{}");
    expect((await checked()).files).toHaveLength(4);
    const wrong = await validate("--changed-since", "no-such-branch");
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining("--changed-since no-such-branch: git says"),
    ]);
  },
);

test("A15: the example of docs/ci.md is what the command prints", { timeout: 60_000 }, async () => {
  const document = readFileSync(new URL("../../docs/ci.md", import.meta.url), "utf8");
  const [, example] = /```console\n\$ npm run -s meridian -- validate\n([\s\S]*?)```/.exec(document)!;
  place.write(
    "sales.ts",
    'import { dag, task } from "meridian";\n\ndag("sales", {}, () => {\n  task("load", { retires: 2 }, () => 1);\n});\n',
  );
  place.write("hello.ts", dagText("hello"));
  place.write(
    "weather.ts",
    'import { dag } from "meridian";\ndag("weather", {\n    startDate: new Date(),\n}, () => {});\n',
  );
  expect((await validate()).stdout).toBe(example);
  const [, command] = /- run: npm run -s meridian -- (validate --changed-since .*)/.exec(document)!;
  expect(command).toMatch(
    /^validate --changed-since origin\/\$\{\{ github\.base_ref }} --output annotations$/,
  );
});

test("MERIDIAN_IMPORT_TIMEOUT_MS bounds an import, be it above or below the budget", async () => {
  place.write("endless.ts", `${dagText("endless")}for (;;);\n`);
  const { code, stdout } = await validateWith({ MERIDIAN_IMPORT_TIMEOUT_MS: "1500" });
  expect(stdout).toMatch(
    /^dags\/endless\.ts {2}error {2}import of .* took longer than 1\.5 s; .*\(import_timeout\)$/m,
  );
  expect(code).toBe(1);
});

test("D3: a long list mapped one by one is a warning at its DAG, in text, JSON and annotations, and no error", async () => {
  place.write(
    "wide.ts",
    `import { dag, task } from "meridian";

const list = Array.from({ length: 250 }, (_, i) => i);
dag("narrow", {}, () => void task("load", { expand: { n: list }, batch: 25 }, () => 1));
dag("wide", {}, () => void task("load", { expand: { n: list } }, () => 1));
`,
  );
  const message =
    'dag "wide": task "load" is mapped one by one over a list of 250 items, and each is a try with a slot of its own; ' +
    "when one takes less than some seconds, give several to an instance: batch: 10 would make 25";
  const text = await validate();
  expect([text.code, text.stdout]).toEqual([
    0,
    `dags/wide.ts:5  warning  ${message}  (fans_out_small)\n1 file, 2 DAGs: 0 errors, 1 warning\n`,
  ]);
  expect(await problems()).toEqual([["dags/wide.ts", 5, "fans_out_small"]]);
  const { stdout } = await validate("--output", "annotations");
  expect(stdout).toBe(`::warning file=dags/wide.ts,line=5,title=fans_out_small::${message}\n`);
});
