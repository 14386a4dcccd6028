import { LimitsReader, type Mistake, type Path } from "./limits-reader.ts";
import { PRIORITY_CLASSES, type LimitsFile, type LimitsRule } from "./limits-file.ts";

export type ReadLimits =
  | { readonly kind: "ok"; readonly file: LimitsFile }
  /** All of them, in the order of the file's parts. */
  | { readonly kind: "wrong"; readonly mistakes: readonly Mistake[] };

const MOST_SLOTS = 1_000_000;

type Section = keyof LimitsFile;
type Rate = LimitsFile["rates"][number];
type Queue = LimitsFile["queues"][string];

/** A limits file as YAML or JSON gave it. Parts that are left out are empty; durations may be texts such as "5m". */
export function readLimits(value: unknown): ReadLimits {
  const r = new LimitsReader();
  const given = r.fields<Readonly<Record<Section, unknown>>>(value, [], {
    pools: asIs,
    cohorts: asIs,
    tenants: asIs,
    rules: asIs,
    adhoc: asIs,
    queues: asIs,
    rates: asIs,
    queued: asIs,
  });
  if (given === undefined) return { kind: "wrong", mistakes: r.mistakes };
  const slots = r.whole(0, MOST_SLOTS);
  const pools = r.record(given.pools, ["pools"], "pool", (pool, path) =>
    r.fields<LimitsFile["pools"][string]>(pool, path, { slots, description: r.text, scheduledFloor: slots }, [
      "slots",
    ]),
  );
  const cohorts = r.record(given.cohorts, ["cohorts"], "cohort", (cohort, path) =>
    r.fields<LimitsFile["cohorts"][string]>(cohort, path, { slots }, ["slots"]),
  );
  const tenants = r.record(given.tenants, ["tenants"], "tenant", (tenant, path) =>
    r.fields<LimitsFile["tenants"][string]>(
      tenant,
      path,
      { slots, cohort: r.text, most: slots, coreHoursPerDay: r.number(0, false) },
      ["slots"],
    ),
  );
  const rules = r.list(given.rules, ["rules"], "rules", (rule, path) =>
    r.fields<LimitsRule>(rule, path, {
      dags: r.text,
      owner: r.text,
      tag: r.text,
      caller: r.text,
      tenant: r.text,
      class: r.oneOf(PRIORITY_CLASSES),
    }),
  );
  const adhoc =
    given.adhoc === undefined
      ? {}
      : r.fields<LimitsFile["adhoc"]>(given.adhoc, ["adhoc"], { maxCores: r.number(0, true) });
  const queues = r.record(given.queues, ["queues"], "queue", (queue, path) => readQueue(r, queue, path));
  const rates = r.list(given.rates, ["rates"], "rates", (rate, path) => readRate(r, rate, path));
  const queued = given.queued === undefined ? {} : readQueued(r, given.queued);
  const file: LimitsFile = {
    pools,
    cohorts,
    tenants,
    rules: rules.map((rule) => rule ?? {}),
    adhoc: adhoc ?? {},
    queues,
    rates: rates.filter((rate) => rate !== undefined),
    queued: queued ?? {},
  };
  // What is wrong in itself may be missed here: only names that the file has not at all are unknown.
  checkPools(r, file);
  checkTenants(r, file, namesOf(given.cohorts));
  checkRules(r, file, namesOf(given.tenants));
  checkQueues(r, file, namesOf(given.tenants));
  return r.mistakes.length === 0 ? { kind: "ok", file } : { kind: "wrong", mistakes: r.mistakes };
}

const asIs = (value: unknown): unknown => value;
const namesOf = (section: unknown): string[] =>
  typeof section === "object" && section !== null ? Object.keys(section) : [];

function readQueue(r: LimitsReader, value: unknown, path: Path): Queue | undefined {
  const queue = r.fields<{ tenants: (string | undefined)[]; otherwise: Queue["otherwise"] }>(
    value,
    path,
    {
      tenants: (given, at) => r.list(given, at, "tenants", r.text),
      otherwise: (given, at) =>
        given === "refuse"
          ? given
          : typeof given === "string"
            ? r.wrong(at, given, '"refuse", or {redirect: QUEUE}')
            : r.fields<{ redirect: string }>(given, at, { redirect: r.id("queue") }, ["redirect"]),
    },
    ["tenants", "otherwise"],
  );
  return queue && { ...queue, tenants: queue.tenants.filter((tenant) => tenant !== undefined) };
}

/** A length of time under its name, as people write it, or with `Ms` behind that, as the API has it. */
function eitherOf(
  r: LimitsReader,
  path: Path,
  name: string,
  { given, ms }: { readonly given: number | undefined; readonly ms: number | undefined },
): number | undefined {
  if (given !== undefined && ms !== undefined)
    r.say(path, `${name} and ${name}Ms are the same; say one of them`);
  return given ?? ms;
}

function readRate(r: LimitsReader, value: unknown, path: Path): Rate | undefined {
  const rate = r.fields<Omit<Rate, "withinMs"> & { within?: number; withinMs?: number }>(
    value,
    path,
    {
      per: r.oneOf(["dag", "tenant", "caller"] as const),
      match: r.text,
      triggers: r.whole(1, MOST_SLOTS),
      within: r.duration,
      withinMs: r.duration,
    },
    ["per", "triggers"],
  );
  if (rate === undefined) return undefined;
  const { within, withinMs: ms, ...rest } = rate;
  const withinMs = eitherOf(r, path, "within", { given: within, ms });
  if (withinMs !== undefined) return { ...rest, withinMs };
  const isGiven = typeof value === "object" && value !== null && ("within" in value || "withinMs" in value);
  if (!isGiven) r.say(path, 'within is missing; say in what time, such as "1m"');
  return undefined;
}

function readQueued(r: LimitsReader, value: unknown): LimitsFile["queued"] | undefined {
  const path = ["queued"];
  const whole = r.whole(1, MOST_SLOTS);
  const queued = r.fields<LimitsFile["queued"] & { readonly timeout?: number }>(value, path, {
    mostRuns: whole,
    mostRunsPerTenant: whole,
    timeout: r.duration,
    timeoutMs: r.duration,
  });
  if (queued === undefined) return undefined;
  const { timeout, timeoutMs: ms, ...rest } = queued;
  const timeoutMs = eitherOf(r, path, "timeout", { given: timeout, ms });
  return timeoutMs === undefined ? rest : { ...rest, timeoutMs };
}

function checkPools(r: LimitsReader, { pools }: LimitsFile): void {
  for (const [name, { slots, scheduledFloor: floor = 0 }] of Object.entries(pools)) {
    if (floor > slots)
      r.wrong(
        ["pools", name, "scheduledFloor"],
        floor,
        `at most the pool's ${slots} slots`,
        "lower it, or give the pool more",
      );
  }
}

function checkTenants(
  r: LimitsReader,
  { tenants, cohorts }: LimitsFile,
  cohortNames: readonly string[],
): void {
  for (const [name, { slots, cohort, most }] of Object.entries(tenants)) {
    const path = ["tenants", name];
    if (cohort !== undefined) r.known([...path, "cohort"], "cohort", cohort, cohortNames);
    if (most === undefined) continue;
    if (most < slots)
      r.wrong([...path, "most"], most, `at least its own ${slots} slots`, "raise it, or leave it out");
    if (cohort === undefined)
      r.say(
        [...path, "most"],
        "it is in no cohort, so nobody lends to it; name its cohort, or leave this out",
      );
  }
  for (const [name, { slots }] of Object.entries(cohorts)) {
    const own = Object.entries(tenants).filter(([, tenant]) => tenant.cohort === name);
    const sum = own.reduce((total, [, tenant]) => total + tenant.slots, 0);
    if (sum <= slots) continue;
    const list = own.map(([tenant, { slots: its }]) => `${tenant} ${its}`).join(", ");
    const advice = "give it more, or its tenants less";
    r.wrong(["cohorts", name, "slots"], slots, `at least the ${sum} slots of its tenants (${list})`, advice);
  }
}

const isForAll = ({ tenant: _tenant, class: _class, ...conditions }: LimitsRule): boolean =>
  Object.keys(conditions).length === 0;

function checkRules(r: LimitsReader, { rules }: LimitsFile, tenants: readonly string[]): void {
  rules.forEach(({ tenant }, i) => {
    if (tenant !== undefined) r.known(["rules", i, "tenant"], "tenant", tenant, tenants);
  });
  if (r.mistakes.some(({ path }) => path[0] === "rules")) return;
  const all = rules.findIndex(isForAll);
  if (all >= 0 && all < rules.length - 1)
    r.say(["rules", all + 1], `it never counts, since rules[${all}] fits all before it; put that one last`);
}

function checkQueues(r: LimitsReader, { queues }: LimitsFile, tenants: readonly string[]): void {
  for (const [name, queue] of Object.entries(queues)) {
    queue.tenants.forEach((tenant, i) => r.known(["queues", name, "tenants", i], "tenant", tenant, tenants));
    const way = [name];
    for (let to = redirectOf(queues, name); to !== undefined; to = redirectOf(queues, to)) {
      way.push(to);
      if (to === name) {
        const text = `it leads back to itself (${way.join(" → ")}); name another queue, or refuse`;
        r.say(["queues", name, "otherwise", "redirect"], text);
      }
      if (way.indexOf(to) < way.length - 1) break;
    }
  }
}

function redirectOf(queues: LimitsFile["queues"], name: string): string | undefined {
  const otherwise = Object.hasOwn(queues, name) ? queues[name]!.otherwise : "refuse";
  return otherwise === "refuse" ? undefined : otherwise.redirect;
}
