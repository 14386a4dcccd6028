import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { globMatches } from "../../core/glob.ts";
import { NO_LIMITS, placeByCaller, placeOf, type LimitsFile } from "../../core/limits-file.ts";
import { pathText } from "../../core/limits-reader.ts";
import { readLimits } from "../../core/read-limits.ts";

const dag = (dagId: string, given: { owner?: string; tags?: string[]; caller?: string } = {}) => ({
  dagId,
  owner: given.owner ?? "",
  tags: given.tags ?? [],
  caller: given.caller ?? null,
});

/** The mistakes of a file, a line each. */
function mistakes(value: unknown): string[] {
  const read = readLimits(value);
  return read.kind === "ok" ? [] : read.mistakes.map(({ path, message }) => `${pathText(path)}: ${message}`);
}

function read(value: unknown): LimitsFile {
  expect(mistakes(value)).toEqual([]);
  return (readLimits(value) as { file: LimitsFile }).file;
}

describe("B12: the tenant and class of a DAG, and of its runs by hand", () => {
  const file = {
    rules: [
      { caller: "*@ci", class: "best_effort" },
      { dags: "sales_*", tag: "close", tenant: "sales", class: "critical" },
      { dags: "sales_?", tenant: "sales" },
      { owner: "research*", tenant: "research", class: "best_effort" },
      { caller: "ann@*", dags: "lab", tenant: "ann" },
    ],
  } as const satisfies Pick<LimitsFile, "rules">;

  it.each([
    ["no rule", dag("other"), { tenant: null, class: "standard" }],
    [
      "all conditions of a rule",
      dag("sales_eu", { tags: ["x", "close"] }),
      { tenant: "sales", class: "critical" },
    ],
    ["one of them is not met", dag("sales_eu", { tags: ["x"] }), { tenant: null, class: "standard" }],
    ["a class is left out", dag("sales_1"), { tenant: "sales", class: "standard" }],
    ["by owner", dag("x", { owner: "research-2" }), { tenant: "research", class: "best_effort" }],
    ["the first counts", dag("sales_1", { owner: "research" }), { tenant: "sales", class: "standard" }],
    [
      "by caller, who leaves the tenant to the DAG",
      dag("sales_1", { caller: "b@ci" }),
      { tenant: "sales", class: "best_effort" },
    ],
    [
      "a caller's rule behind one that fits",
      dag("lab", { owner: "research", caller: "ann@cli" }),
      { tenant: "research", class: "best_effort" },
    ],
    [
      "a caller's rule that leaves the class to the DAG",
      dag("lab", { caller: "ann@cli" }),
      { tenant: "ann", class: "standard" },
    ],
    ["a scheduled run has no caller", dag("lab"), { tenant: null, class: "standard" }],
  ])("%s", (_, given, place) => {
    expect(placeOf(file, given)).toEqual(place);
  });

  it("says of a run by hand whether a rule for callers counts", () => {
    expect(placeByCaller(file, { ...dag("sales_1"), caller: "ann@cli" })).toBeNull();
    expect(placeByCaller(file, { ...dag("lab"), caller: "ann@cli" })).toEqual({
      tenant: "ann",
      class: "standard",
    });
  });

  it("globs say what regular expressions say", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "*", "?", "."), maxLength: 8 });
    fc.assert(
      fc.property(
        letters,
        fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 8 }),
        (pattern, text) => {
          const body = pattern.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("?", ".");
          expect(globMatches(pattern, text)).toBe(new RegExp(`^${body}$`).test(text));
        },
      ),
      { seed: 12, numRuns: 2000 },
    );
    // In time by the product of the lengths, not more.
    expect(globMatches("*a".repeat(2_000), "a".repeat(1_999))).toBe(false);
  });
});

describe("B12: a limits file is read", () => {
  it("parts that are left out are empty", () => {
    expect(read({})).toEqual(NO_LIMITS);
    expect(read({ pools: {}, queued: {} })).toEqual(NO_LIMITS);
  });

  it("durations are texts, or milliseconds under the name that the API has", () => {
    const within = { per: "dag", match: "a*", triggers: 3 };
    const file = read({
      rates: [
        { ...within, within: "5m" },
        { ...within, withinMs: 300_000 },
      ],
      queued: { timeout: "1h" },
    });
    expect(file.rates).toEqual([
      { ...within, withinMs: 300_000 },
      { ...within, withinMs: 300_000 },
    ]);
    expect(file.queued).toEqual({ timeoutMs: 3_600_000 });
    expect(read(JSON.parse(JSON.stringify(file)))).toEqual(file);
  });

  it("all mistakes are told at once, each with its place, what was found and what to do", () => {
    expect(
      mistakes({
        pool: {},
        pools: { "a/b": { slots: -1 }, p: { slots: 2, scheduledFloor: 3 }, q: { description: 7 }, r: null },
        cohorts: { big: { slots: 5 } },
        tenants: {
          a: { slots: 4, cohort: "bug" },
          b: { slots: 4, cohort: "big", most: 3 },
          c: { slots: 2, cohort: "big" },
          d: { slots: 1, most: 2, coreHoursPerDay: -1 },
        },
        rules: [{ dag: "x", tenant: "aa" }, { tenant: "zzzz" }, { class: "best-effort", dags: 7 }, "x"],
        adhoc: { maxCores: 0 },
        queues: {
          x: { tenants: ["nobody"], otherwise: { redirect: "y" } },
          y: { tenants: [], otherwise: { redirect: "x" } },
          z: { tenants: ["a"], otherwise: "drop" },
          self: { tenants: [], otherwise: { redirect: "self" } },
        },
        rates: [
          { per: "user", triggers: 0, within: "soon" },
          { per: "dag", triggers: 1 },
          { per: "dag", triggers: 1, within: "1m", withinMs: 5 },
        ],
        queued: { timeout: 0 },
      }),
    ).toMatchInlineSnapshot(`
      [
        "pool: there is no such key here; did you mean "pools"?",
        "pools.a/b: pool id "a/b" is not allowed: expected 1 to 200 letters, digits, _ or -, with single dots inside",
        "pools.a/b.slots: found -1, expected a whole number from 0 to 1000000",
        "pools.q.description: found 7, expected a text; put it in quotes",
        "pools.q: slots is missing; say it",
        "pools.r: found nothing, expected a mapping with slots, description, scheduledFloor",
        "tenants.d.coreHoursPerDay: found -1, expected a number from 0 on",
        "rules[0].dag: there is no such key here; did you mean "dags"?",
        "rules[2].dags: found 7, expected a text; put it in quotes",
        "rules[2].class: found "best-effort", expected one of critical, standard, best_effort; did you mean "best_effort"?",
        "rules[3]: found "x", expected a mapping with dags, owner, tag, caller, tenant, class",
        "adhoc.maxCores: found 0, expected a number above 0",
        "queues.z.otherwise: found "drop", expected "refuse", or {redirect: QUEUE}",
        "rates[0].per: found "user", expected one of dag, tenant, caller",
        "rates[0].triggers: found 0, expected a whole number from 1 to 1000000",
        "rates[0].within: found "soon", expected a number of milliseconds or a text like "30s", "5m", "1h", "2d", above 0",
        "rates[1]: within is missing; say in what time, such as "1m"",
        "rates[2]: within and withinMs are the same; say one of them",
        "queued.timeout: found 0, expected a number of milliseconds or a text like "30s", "5m", "1h", "2d", above 0",
        "pools.p.scheduledFloor: found 3, expected at most the pool's 2 slots; lower it, or give the pool more",
        "tenants.a.cohort: there is no cohort "bug" in this file; did you mean "big"?",
        "tenants.b.most: found 3, expected at least its own 4 slots; raise it, or leave it out",
        "tenants.d.most: it is in no cohort, so nobody lends to it; name its cohort, or leave this out",
        "cohorts.big.slots: found 5, expected at least the 6 slots of its tenants (b 4, c 2); give it more, or its tenants less",
        "rules[0].tenant: there is no tenant "aa" in this file; did you mean "a"?",
        "rules[1].tenant: there is no tenant "zzzz" in this file; add it under tenants",
        "queues.x.tenants[0]: there is no tenant "nobody" in this file; add it under tenants",
        "queues.x.otherwise.redirect: it leads back to itself (x → y → x); name another queue, or refuse",
        "queues.y.otherwise.redirect: it leads back to itself (y → x → y); name another queue, or refuse",
        "queues.self.otherwise.redirect: it leads back to itself (self → self); name another queue, or refuse",
      ]
    `);
  });

  it("a file that is none", () => {
    expect(mistakes(7)).toMatchInlineSnapshot(`
      [
        ": found 7, expected a mapping with pools, cohorts, tenants, rules, adhoc, queues, rates, queued",
      ]
    `);
    expect(mistakes({ tenants: [] })).toMatchInlineSnapshot(`
      [
        "tenants: found a list of 0, expected a mapping from ids of tenants; write {} for none",
      ]
    `);
    expect(mistakes({ rules: [{}, { dags: "x" }] })).toMatchInlineSnapshot(`
      [
        "rules[1]: it never counts, since rules[0] fits all before it; put that one last",
      ]
    `);
  });

  it("names that every object has are names like others", () => {
    const text =
      '{"tenants": {"constructor": {"slots": 1}, "__proto__": {"slots": 2}}, "rules": [{"tenant": "__proto__"}]}';
    expect(Object.keys(read(JSON.parse(text)).tenants)).toEqual(["constructor", "__proto__"]);
    expect(mistakes({ rules: [{ tenant: "constructor" }] })).toHaveLength(1);
    expect(mistakes(JSON.parse('{"__proto__": {}}'))).toHaveLength(1);
  });
});
