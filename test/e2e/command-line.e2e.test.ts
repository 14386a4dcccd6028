import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BROKEN, lines, printedBy, TROUBLE } from "../support/command-line.ts";
import { ROOT, until } from "../support/product.ts";
import { startWholeProduct, type WholeProduct } from "../support/whole-product.ts";

/** A date of its own, so that tests name their run. */
const RUN = "2026-01-02T00-05-00Z";

let product: WholeProduct;
beforeAll(async () => {
  product = await startWholeProduct();
  product.write("trouble.ts", TROUBLE);
  product.write("broken.ts", BROKEN);
}, 180_000);
afterAll(async () => await product.stop());

const run = async (...args: string[]) => await product.meridian(args);

const { json, table } = printedBy(run);

// A command is a process of its own: beside other tests each may take seconds.
describe("F6: the command line beside the running product", { timeout: 180_000 }, () => {
  it("dags: list with what is wrong, details, show, tasks, next execution", async () => {
    await until(async () => {
      const found = await json<{ file: string }[]>("dags", "list-import-errors");
      return found.some(({ file }) => file === "broken.ts") ? true : null;
    }, 60_000);
    const [dags, some, quiet, details, detailsText, show, graph, tasks, tasksJson, next, errors, files] =
      await Promise.all([
        json<{ dagId: string; schedule: string }[]>("dags", "list"),
        table("dags", "list", "--search", "trouble", "--columns", "dagId,state,owner,tags"),
        run("dags", "list", "--tag", "odd", "--quiet"),
        json("dags", "details", "trouble.one"),
        run("dags", "details", "trouble.one"),
        run("dags", "show", "trouble.one"),
        json("dags", "show", "trouble.one"),
        table("tasks", "list", "trouble.one"),
        json("tasks", "list", "trouble.one"),
        json("dags", "next-execution", "hello", "-n", "2"),
        table("dags", "list-import-errors"),
        table("files", "list", "--errors"),
      ]);
    expect(dags.map((dag) => dag.dagId)).toEqual(expect.arrayContaining(["hello", "trouble.one"]));
    expect(some).toEqual([{ dagId: "trouble.one", state: "on", owner: "anna", tags: "odd" }]);
    expect(quiet.stdout).toBe("trouble.one\n");
    expect(details).toMatchObject({ dagId: "trouble.one", file: "trouble.ts", graph: { maxActiveRuns: 4 } });
    expect(detailsText.stdout).toMatch(/^state +on\n/m);
    expect(lines(show.stdout)).toEqual(["fails", "waits", "[load: Load]", "  load.never  ← fails"]);
    expect(graph).toMatchObject({ edges: [{ from: "fails", to: "load.never" }] });
    expect(tasks.map((task) => [task["taskId"], task["group"], task["retries"]])).toEqual([
      ["fails", "-", "1"],
      ["waits", "-", "0"],
      ["load.never", "load", "0"],
    ]);
    expect(tasksJson).toHaveLength(3);
    expect(next).toEqual([
      expect.objectContaining({ dueAt: expect.any(String) as string }),
      expect.anything(),
    ]);
    expect(errors).toContainEqual(
      expect.objectContaining({
        file: "broken.ts",
        line: "2",
        message: expect.stringContaining("it is broken") as string,
      }),
    );
    expect(files).toContainEqual(
      expect.objectContaining({
        file: "broken.ts",
        error: expect.stringContaining("it is broken") as string,
      }),
    );
  });

  it("F16: trigger, and what went wrong: the error, the log, and why a task waits", async () => {
    const made = await json("dags", "trigger", "trouble.one", "--logical-date", "2026-01-02T00:05");
    expect(made).toMatchObject({ dagId: "trouble.one", runId: RUN });
    const of = ["trouble.one", RUN] as const;
    await until(async () => {
      const cells = await json<{ taskId: string; state: string }[]>("tasks", "states-for-dag-run", ...of);
      return cells.some(({ taskId, state }) => taskId === "load.never" && state === "upstream_failed")
        ? true
        : null;
    });
    const [shown, states, log, first, logJson, why, whyJson, never, pool, poolJson, list] = await Promise.all(
      [
        run("runs", "show", ...of),
        table("tasks", "states-for-dag-run", "trouble.one", "latest"),
        run("tasks", "logs", "trouble.one", "fails"),
        run("tasks", "logs", "trouble.one", "fails", RUN, "--try", "1", "--quiet"),
        json("tasks", "logs", "trouble.one", "fails", "2026-01-02T00:05Z"),
        run("tasks", "failed-deps", "trouble.one", "waits"),
        json("tasks", "failed-deps", "trouble.one", "waits", RUN),
        run("tasks", "failed-deps", "trouble.one", "load.never"),
        run("pools", "get", "nowhere"),
        json("pools", "get", "nowhere"),
        json("dags", "list-runs", "trouble.one", "--state", "running"),
      ],
    );
    const reason = 'can never run: pool "nowhere" does not exist';
    expect(shown.stdout).toContain("manual by ");
    expect(shown.stdout).toMatch(/@cli, /);
    expect(shown.stdout).toMatch(
      new RegExp(`^waits +queued +1 .*${reason}: make the pool, .* \\(since 2`, "m"),
    );
    expect(shown.stdout, "escapes are written out").toContain(
      "fails failed in try 2: Error: it broke\n\\u001b[31m",
    );
    expect(shown.stdout).toContain(`log: meridian tasks logs trouble.one fails ${RUN}`);
    expect(shown.stdout).toContain(
      `\n${product.url}/dags/trouble.one?run=${RUN}\n${product.temporalUi}/namespaces/${product.namespace}/workflows/run.trouble.one.${RUN}`,
    );
    expect(
      states.map((row) => row["taskId"]),
      "in the order of the graph",
    ).toEqual(["fails", "waits", "load.never"]);
    expect(states.find((row) => row["taskId"] === "waits")?.["waits"]).toContain(reason);
    expect(log.stdout).toContain("line of try 2 💼");
    expect(log.stderr).toContain("fails failed in try 2: Error: it broke");
    expect(first.stdout).toContain("line of try 1 💼");
    expect(first.stderr).toBe("");
    expect(logJson).toMatchObject({
      try: 2,
      state: "failed",
      log: expect.stringContaining("try 2") as string,
    });
    expect(lines(why.stdout)).toEqual([
      `waits in trouble.one ${RUN}: queued`,
      expect.stringMatching(/^dep/),
      expect.stringContaining(reason),
    ]);
    expect(whyJson).toMatchObject({
      state: "queued",
      deps: [{ dep: "slots", reason: expect.stringContaining(reason) as string }],
    });
    expect(never.stdout).toContain("its rule all_success cannot be met any more: fails is failed\n");
    expect(never.stdout).toContain(`log: meridian tasks logs trouble.one fails ${RUN}\n`);
    expect(pool.stdout).toContain(reason);
    expect(poolJson).toMatchObject({ name: "nowhere", exists: false });
    expect(list).toMatchObject([{ runId: RUN, state: "running" }]);
  });

  it("waiting: Ctrl-C and the time end the waiting, not the run; the exit code says how the run ended", async () => {
    const late = await run("runs", "wait", "trouble.one", RUN, "--timeout", "1s");
    expect([late.code, late.stdout]).toEqual([6, ""]);
    expect(late.stderr).toContain("it goes on");
    expect(late.stderr).toMatch(
      /^ {2}waits waits: can never run: pool "nowhere" does not exist: make the pool, .* \(since 2/m,
    );
    expect(await interrupted("runs", "wait", "trouble.one", RUN)).toMatchObject({
      code: 130,
      stderr: expect.stringContaining(`the run goes on: meridian runs wait trouble.one ${RUN}`) as string,
    });
    const following = run("tasks", "logs", "trouble.one", "waits", RUN, "--follow");
    expect(await json("pools", "set", "nowhere", "1", "--description", "it's ü\nnew")).toMatchObject({
      slots: 1,
      description: "it's ü\nnew",
    });
    const failed = await run("runs", "wait", "trouble.one", RUN, "--output", "json");
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({ state: "failed", runId: RUN });
    expect(failed.stderr).toContain("fails failed in try 2: Error: it broke");
    expect((await following).stdout).toContain("it runs");
    const good = await run("dags", "trigger", "hello", "-l", "2026-01-03", "--wait", "--timeout", "2m");
    expect([good.code, good.stdout]).toEqual([0, "hello 2026-01-03T00-00-00Z: success\n"]);
    expect(good.stderr).toContain("report: success");
    expect(good.stderr).toContain(`made  ${product.url}/dags/hello?run=2026-01-03T00-00-00Z\n`);
    const output = await run("tasks", "output", "hello", "numbers", "2026-01-03");
    expect([output.code, output.stdout, output.stderr]).toEqual([0, "[1,2,3]\n", ""]);
    const none = await run("tasks", "output", "trouble.one", "fails", RUN);
    expect([none.code, none.stdout]).toEqual([3, ""]);
    expect(none.stderr).toMatch(/^error: .*only one that succeeded has an output$/m);
  });

  it("B9 F6: tasks are cleared and marked after the run's end, a run is ended; a dry run says which it would be", async () => {
    const day = "2026-01-03";
    const dry = await run("tasks", "clear", "hello", day, "--task", "numbers", "--downstream", "--dry-run");
    expect([dry.code, dry.stdout]).toEqual([0, expect.stringMatching(/^numbers +- +success +1$/m)]);
    expect(dry.stdout).toContain("tasks of hello 2026-01-03T00-00-00Z would be run again\n");
    const unnamed = await run("tasks", "clear", "hello", day);
    expect([unnamed.code, unnamed.stderr]).toEqual([
      2,
      expect.stringContaining("name the tasks: --task, --group, --only-failed, or --all"),
    ]);
    expect(await json("tasks", "clear", "hello", day, "--task", "numbers")).toMatchObject({ changed: 1 });
    expect((await run("runs", "wait", "hello", day)).code).toBe(0);
    const shown = await run("runs", "show", "hello", day);
    expect(shown.stdout).toMatch(/^numbers +success +2 /m);
    const nothing = await run("tasks", "clear", "hello", day, "--only-failed");
    expect(nothing.code).toBe(4);
    expect(nothing.stderr).toContain("nothing to clear");
    expect(await json("tasks", "mark", "hello", day, "-t", "report", "--as", "failed")).toMatchObject({
      changed: 1,
    });
    expect((await run("runs", "wait", "hello", day)).code).toBe(1);
    const over = await run("runs", "end", "hello", day);
    expect([over.code, over.stderr]).toEqual([4, expect.stringContaining("is over already")]);
  });

  it("B2 B9 F6: a run is cleared with the version in force: its preview, and the version that it has then", async () => {
    const write = (body: string): void =>
      product.write(
        "mended.ts",
        `import { dag, task } from "meridian";\nexport const mended = dag("mended", {}, () => { ${body} });\n`,
      );
    const versions = async (n: number) =>
      await until(async () => {
        const found = await run("dags", "versions", "mended", "--output", "json");
        return found.code === 0 && (JSON.parse(found.stdout) as unknown[]).length === n ? true : null;
      });
    write(`task("a", () => { throw new Error("no"); }); task("old", () => 1);`);
    await versions(1);
    expect((await run("dags", "trigger", "mended", "--wait")).code).toBe(1);
    write(`task("a", () => 2); task("fresh", () => 3);`);
    await versions(2);
    const clear = ["tasks", "clear", "mended", "latest", "--only-failed"];
    const dry = await table(...clear, "--latest-version", "--dry-run");
    expect(dry.slice(0, 3)).toMatchObject([
      { taskId: "a", state: "failed", try: "1", change: "-" },
      { taskId: "fresh", state: "none", try: "0", change: "new" },
      { taskId: "old", state: "success", try: "1", change: "removed" },
    ]);
    expect((await run(...clear, "--dry-run")).stdout).not.toContain("change");
    const done = await run(...clear, "--latest-version");
    expect([done.code, done.stdout]).toEqual([
      0,
      expect.stringMatching(/^2 tasks of mended .*: to be run again; 1 no longer in the DAG: removed$/m),
    ]);
    expect((await run("runs", "wait", "mended")).code).toBe(0);
    expect(await table("runs", "list", "mended", "--columns", "state,version")).toEqual([
      { state: "success", version: "2" },
    ]);
    const shown = await run("runs", "show", "mended");
    expect(shown.stdout).toMatch(/^old +removed +1 /m);
  });

  it("versions and their difference", async () => {
    product.write("trouble.ts", TROUBLE.replace("retries: 1", "retries: 3"));
    await until(async () =>
      (await json<unknown[]>("dags", "versions", "trouble.one")).length === 2 ? true : null,
    );
    const [versions, diff, diffJson, one] = await Promise.all([
      table("dags", "versions", "trouble.one"),
      run("dags", "diff", "trouble.one"),
      json("dags", "diff", "trouble.one", "1", "2"),
      run("dags", "diff", "hello"),
    ]);
    expect(versions.map((row) => row["number"])).toEqual(["2", "1"]);
    expect(diff.stdout).toMatch(/^~ task fails\n {4}retries: 1 → 3$/m);
    expect(diff.stdout).toMatch(/^\+.*retries: 3/m);
    expect(diffJson).toMatchObject({ tasks: [{ id: "fails", change: "changed" }] });
    expect(one.code).toBe(3);

    // Back to the first version: it is in force, though not the newest.
    product.write("trouble.ts", TROUBLE);
    await until(async () =>
      (await json<{ version: number }>("dags", "details", "trouble.one")).version === 1 ? true : null,
    );
    const [list, undone, fromOne] = await Promise.all([
      table("dags", "versions", "trouble.one"),
      run("dags", "diff", "trouble.one"),
      run("dags", "diff", "trouble.one", "2"),
    ]);
    expect(list.map((row) => [row["number"], row["inForce"]])).toEqual([
      ["2", expect.not.stringContaining("yes")],
      ["1", "yes"],
    ]);
    expect(undone.stdout).toMatch(/^from version 2 of .*\nto {3}version 1 of .*, in force$/m);
    expect(undone.stdout).toMatch(/^~ task fails\n {4}retries: 3 → 1$/m);
    expect(fromOne.stdout).toBe(undone.stdout);
  });

  it("pause, unpause, pools: in words and in JSON", async () => {
    expect((await run("dags", "pause", "hello", "--reason", "by hand")).stdout).toBe("hello is paused\n");
    const [row] = await table("dags", "list", "--search", "hello");
    expect(row).toMatchObject({
      state: "paused",
      note: expect.stringMatching(/^paused by .+@cli: by hand$/) as string,
    });
    expect(await json("dags", "pause", "hello")).toMatchObject({ dagId: "hello", paused: true });
    expect(await json("dags", "next-execution", "hello")).toEqual([]);
    expect(await json("dags", "unpause", "hello")).toMatchObject({ dagId: "hello", paused: false });
    expect((await run("dags", "unpause", "hello")).stdout).toBe("hello is on\n");
    expect((await run("pools", "set", "spare", "2", "--quiet")).stdout).toBe("");
    expect(await table("pools", "list")).toContainEqual(
      expect.objectContaining({ name: "spare", slots: "2" }),
    );
    expect((await json<{ name: string }[]>("pools", "list")).map((pool) => pool.name)).toContain("spare");
    expect((await run("pools", "delete", "spare")).stdout).toBe("pool spare is deleted\n");
    expect((await run("pools", "delete", "spare")).code).toBe(3);
  });

  it("K68: odd ids are refused with the allowed characters, or mean what they say", async () => {
    const refused = async (...args: string[]): Promise<void> => {
      const { code, stdout, stderr } = await run(...args);
      expect([args, code, stdout]).toEqual([args, 4, ""]);
      expect(lines(stderr)).toEqual([expect.stringMatching(/^error: .*(not allowed|expected)/)]);
    };
    await Promise.all([
      refused("dags", "details", "a b"),
      refused("dags", "details", ".."),
      refused("dags", "trigger", "ü/ß"),
      refused("runs", "show", "hello", "path/to/file.mp4"),
      refused("runs", "show", "hello", "50%"),
      refused("tasks", "logs", "hello", `it's "x:y@z"`, RUN),
      refused("pools", "set", "a/b", "1"),
      (async () => {
        const { code, stderr } = await run("runs", "show", "hello", "2026-03-29T01:00:00+02:00");
        expect([code, stderr]).toEqual([3, 'error: dag "hello" has no run "2026-03-28T23-00-00Z"\n']);
      })(),
    ]);
  });

  it("exit codes: one line each", async () => {
    const ends = async (
      code: number,
      args: readonly string[],
      line: RegExp,
      env: Record<string, string> = {},
    ): Promise<void> => {
      const answer = await product.meridian(args, env);
      expect([args, answer.code, answer.stdout]).toEqual([args, code, ""]);
      expect(lines(answer.stderr)[0]).toMatch(line);
    };
    await Promise.all([
      ends(3, ["dags", "trigger", "helo"], /^error: dag "helo" does not exist; did you mean "hello"\?$/),
      ends(3, ["runs", "list", "helo"], /^error: .*dag "helo"/),
      ends(
        3,
        ["runs", "show", "hello", "1999-01-01"],
        /^error: dag "hello" has no run "1999-01-01T00-00-00Z"$/,
      ),
      ends(3, ["tasks", "logs", "hello", "nope", "2026-01-03"], /^error: .*has no task "nope"/),
      ends(3, ["dags", "test", "dags/none.ts"], /^error: .*dags\/none\.ts/),
      ends(
        4,
        ["dags", "trigger", "hello", "-l", "2026-01-03"],
        /^error: dag "hello" has a run for .*T00-00-00Z/,
      ),
      ends(2, ["dags", "trigger", "hello", "--conf", "{a"], /^error: --conf \{a: expected a JSON object/),
      ends(2, ["dags", "trigger", "hello", "-l", "soon"], /^error: option .* expected "2015-12-09"/),
      ends(2, ["dags", "lst"], /^error: unknown command 'lst'$/),
      ends(2, ["runs", "list", "--state", "done"], /Allowed choices are queued, running, success/),
      ends(
        2,
        ["dags", "list"],
        /^error: MERIDIAN_PROT is not a setting of Meridian; did you mean "MERIDIAN_PORT"\?/,
        {
          MERIDIAN_PROT: "1",
        },
      ),
      ends(5, ["dags", "list"], /^error: cannot reach the API at http:\/\/127\.0\.0\.1:9: /, {
        MERIDIAN_API_URL: "http://127.0.0.1:9",
      }),
      ends(
        5,
        ["dags", "list", "--url", product.temporalUi],
        /^error: (cannot reach|.*not as the Meridian API)/,
      ),
      ends(5, ["dags", "list"], /^error: no API runs from the data folder/, { MERIDIAN_HOME: "/nowhere" }),
    ]);
  });

  it("F1: dags test runs a DAG in one process, with nothing to talk to", async () => {
    const alone = {
      MERIDIAN_API_URL: "http://127.0.0.1:9",
      DATABASE_URL: "",
      TEMPORAL_ADDRESS: "127.0.0.1:1",
    };
    const hello = ["dags", "test", "dags/hello.ts", "--interval", "2026-01-02"];
    const tested = await product.meridian(hello, alone);
    expect([tested.code, tested.stderr]).toEqual([0, ""]);
    expect(tested.stdout).toContain("adding 3 numbers");
    expect(lines(tested.stdout).at(-1)).toBe("hello 2026-01-02T00-00-00Z: success");
    const inJson = await product.meridian([...hello, "--output", "json"], alone);
    expect(inJson.code).toBe(0);
    expect(JSON.stringify(JSON.parse(inJson.stdout))).toContain("2026-01-02: the total is 6");
    const failing = await product.meridian(["dags", "test", "dags/states-tour.ts"], alone);
    expect(failing.code).toBe(1);
    expect(lines(failing.stdout).at(-1)).toMatch(/^states_tour .*: failed$/);
  });

  it("a reader that has enough (`| head -1`) ends it quietly", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pipe-"));
    writeFileSync(join(folder, "pipe.sh"), 'set -o pipefail\n"$@" | head -1 >/dev/null\n');
    const command = [
      process.execPath,
      join(ROOT, "cli/meridian.mjs"),
      "runs",
      "list",
      "--output",
      "json",
      "-q",
    ];
    const { code, stderr } = await answerOf(
      spawn("bash", [join(folder, "pipe.sh"), ...command, "--url", product.url]),
    );
    rmSync(folder, { recursive: true });
    expect([code, stderr]).toEqual([0, ""]);
  });
});

/** Starts a command and sends it SIGINT once it has said something. */
async function interrupted(...args: string[]) {
  const command = [join(ROOT, "cli/meridian.mjs"), ...args, "--url", product.url];
  const child = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "pipe"] });
  child.stderr.once("data", () => child.kill("SIGINT"));
  return await answerOf(child);
}

async function answerOf(child: ReturnType<typeof spawn>): Promise<{ code: number | null; stderr: string }> {
  let stderr = "";
  child.stdout?.resume();
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((done) => child.once("close", done));
  return { code, stderr };
}
