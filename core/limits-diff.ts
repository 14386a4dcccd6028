/** What a limits file changes of what is in force. */
import { canonicalJson } from "./canonical.ts";
import {
  classNumber,
  placeOf,
  placeOfRun,
  type LimitsFile,
  type LimitsRule,
  type Place,
  type Placed,
  type PlaceNumbered,
} from "./limits-file.ts";
import { CLASS_NAMES, type ClassNumber } from "./limits.ts";
import type { RunType } from "./states.ts";

/** What is in force: the file applied last, and the rows as they are, which other commands change too. */
export interface LimitsNow {
  readonly file: LimitsFile;
  readonly pools: Readonly<Record<string, PoolNow>>;
  readonly cohorts: LimitsFile["cohorts"];
  readonly tenants: LimitsFile["tenants"];
  readonly dags: readonly DagNow[];
  /** Runs that are queued or running, those that are alike together. */
  readonly runs: readonly RunsNow[];
}

export interface PoolNow {
  readonly slots: number;
  readonly description: string;
  /** What runs by hand may take of it; null: all. */
  readonly adhoc: number | null;
}

export interface DagNow extends Placed, PlaceNumbered {}

export interface RunsNow extends PlaceNumbered {
  readonly dagId: string;
  readonly runType: RunType;
  readonly caller: string | null;
  readonly count: number;
}

export interface Move<Of> {
  readonly of: Of;
  readonly to: PlaceNumbered;
}

export interface LimitsChange {
  readonly what: "pool" | "cohort" | "tenant" | "rule" | "adhoc" | "queue" | "rate" | "queued" | "dag";
  readonly name: string;
  /** In words; null: it was not there. */
  readonly before: string | null;
  /** In words; null: it goes. */
  readonly after: string | null;
}

export interface LimitsPlan {
  /** Of DAGs the first by their ids. */
  readonly changes: readonly LimitsChange[];
  readonly dags: readonly Move<DagNow>[];
  readonly runs: readonly Move<RunsNow>[];
}

/** So many DAGs are named one by one; the rest is counted. */
const MOST_DAGS = 100;

/** A pool that runs by hand may not have all of: what they may; null: all. */
export const adhocOf = (slots: number, floor = 0): number | null =>
  floor === 0 ? null : Math.max(0, slots - floor);

export function planLimits(now: LimitsNow, file: LimitsFile): LimitsPlan {
  const placed = new Map(now.dags.map((dag) => [dag.dagId, dag]));
  const dags = now.dags
    .map((of) => ({ of, to: numbered(placeOf(file, { ...of, caller: null })) }))
    .filter(({ of, to }) => !isSame(of, to));
  const runs = now.runs.flatMap((of) => {
    const dag = placed.get(of.dagId);
    if (dag === undefined) return [];
    const to = placeOfRun(file, dag, of);
    return isSame(of, to) ? [] : [{ of, to }];
  });
  const { file: old } = now;
  const changes: LimitsChange[] = [
    ...changesOf("pool", poolsInWords(now, file)),
    ...changesOf("cohort", [entries(now.cohorts, cohortInWords), entries(file.cohorts, cohortInWords)]),
    ...changesOf("tenant", [entries(now.tenants, tenantInWords), entries(file.tenants, tenantInWords)]),
    ...listChanges("rule", old.rules.map(ruleInWords), file.rules.map(ruleInWords), true),
    ...changesOf("adhoc", [adhocInWords(old), adhocInWords(file)]),
    ...changesOf("queue", [entries(old.queues, queueInWords), entries(file.queues, queueInWords)]),
    ...listChanges("rate", old.rates.map(rateInWords), file.rates.map(rateInWords), false),
    ...changesOf("queued", [queuedInWords(old), queuedInWords(file)]),
    ...dags.slice(0, MOST_DAGS).map(({ of, to }): LimitsChange => ({
      what: "dag",
      name: of.dagId,
      before: placeInWords(of),
      after: placeInWords(to),
    })),
  ];
  return { changes, dags, runs };
}

/** Nothing is to be written, the file itself included. */
export const isUnchanged = (now: LimitsNow, file: LimitsFile, plan: LimitsPlan): boolean =>
  plan.changes.length + plan.runs.length === 0 && canonicalJson(now.file) === canonicalJson(file);

const numbered = ({ tenant, class: name }: Place): PlaceNumbered => ({ tenant, class: classNumber(name) });
const isSame = (a: PlaceNumbered, b: PlaceNumbered): boolean => a.tenant === b.tenant && a.class === b.class;
const classInWords = (number: ClassNumber): string => CLASS_NAMES[number].replace("_", " ");
const placeInWords = ({ tenant, class: number }: PlaceNumbered): string =>
  `${tenant === null ? "no tenant" : `tenant ${tenant}`}, ${classInWords(number)}`;

type Words = ReadonlyMap<string, string>;

const entries = <T>(record: Readonly<Record<string, T>>, inWords: (value: T) => string): Words =>
  new Map(Object.entries(record).map(([name, value]) => [name, inWords(value)]));

function changesOf(what: LimitsChange["what"], [before, after]: readonly [Words, Words]): LimitsChange[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .sort()
    .map((name) => ({ what, name, before: before.get(name) ?? null, after: after.get(name) ?? null }))
    .filter((change) => change.before !== change.after);
}

/** Lines that come and go, each named by its place from 1; and the places of those that stay, where their order changes. */
function listChanges(
  what: "rule" | "rate",
  before: readonly string[],
  after: readonly string[],
  isOrdered: boolean,
): LimitsChange[] {
  const left = new Map<string, number[]>();
  before.forEach((text, i) => left.set(text, [...(left.get(text) ?? []), i + 1]));
  /** Of each line that is wanted its place before; null: it is new. */
  const was = after.map((text) => left.get(text)?.shift() ?? null);
  const gone = [...left.values()].flat().sort((a, b) => a - b);
  const kept = was.filter((place) => place !== null);
  const sorted = [...kept].sort((a, b) => a - b);
  const isMoved = isOrdered && kept.join() !== sorted.join();
  return [
    ...gone.map((place) => ({ what, name: String(place), before: before[place - 1]!, after: null })),
    ...after.flatMap((text, i) =>
      was[i] === null ? [{ what, name: String(i + 1), before: null, after: text }] : [],
    ),
    ...(isMoved ? [{ what, name: "order", before: sorted.join(" "), after: kept.join(" ") }] : []),
  ];
}

const slotsText = (slots: number): string => `${slots} ${slots === 1 ? "slot" : "slots"}`;

function poolInWords({ slots, adhoc, description }: PoolNow): string {
  const kept = adhoc === null ? "" : `, of which runs by hand take ${adhoc} at the most`;
  return `${slotsText(slots)}${kept}${description === "" ? "" : ` (${description})`}`;
}

/** Pools of the file, and others only where they lose what was kept from runs by hand. */
function poolsInWords({ pools }: LimitsNow, file: LimitsFile): [Words, Words] {
  const named = entries(pools, poolInWords);
  const wanted = Object.entries(file.pools).map(([name, pool]): [string, string] => {
    const {
      slots,
      scheduledFloor: floor,
      description = Object.hasOwn(pools, name) ? pools[name]!.description : "",
    } = pool;
    return [name, poolInWords({ slots, adhoc: adhocOf(slots, floor), description })];
  });
  const others = Object.entries(pools)
    .filter(([name]) => !Object.hasOwn(file.pools, name))
    .map(([name, pool]): [string, string] => [name, poolInWords({ ...pool, adhoc: null })]);
  return [named, new Map([...wanted, ...others])];
}

const cohortInWords = ({ slots }: LimitsFile["cohorts"][string]): string => slotsText(slots);

function tenantInWords({ slots, cohort, most, coreHoursPerDay }: LimitsFile["tenants"][string]): string {
  return [
    slotsText(slots),
    ...(cohort === undefined ? [] : [`cohort ${cohort}`]),
    ...(most === undefined ? [] : [`at the most ${most} with what it borrows`]),
    ...(coreHoursPerDay === undefined ? [] : [`${coreHoursPerDay} core-hours a day`]),
  ].join(", ");
}

function ruleInWords({ tenant, class: name, ...conditions }: LimitsRule): string {
  const when = (["dags", "owner", "tag", "caller"] as const).flatMap((key) =>
    conditions[key] === undefined ? [] : [`${key} ${conditions[key]}`],
  );
  const then = [...(tenant === undefined ? [] : [`tenant ${tenant}`]), ...(name === undefined ? [] : [name])];
  return `${when.join(", ") || "all"} → ${then.join(", ").replace("best_effort", "best effort") || "no tenant, standard"}`;
}

const adhocInWords = ({ adhoc: { maxCores } }: LimitsFile): Words =>
  new Map(maxCores === undefined ? [] : [["maxCores", `${maxCores} cores a task`]]);

const queueInWords = ({ tenants, otherwise }: LimitsFile["queues"][string]): string =>
  `for ${tenants.join(", ") || "nobody"}; others are ${otherwise === "refuse" ? "refused" : `sent to ${otherwise.redirect}`}`;

const rateInWords = ({ per, match, triggers, withinMs }: LimitsFile["rates"][number]): string =>
  `${per}${match === undefined ? "" : ` ${match}`}: ${triggers} triggers in ${withinMs / 1000} s`;

const queuedInWords = ({ queued }: LimitsFile): Words =>
  new Map(
    Object.entries(queued).map(([name, value]) => [
      name,
      name === "timeoutMs" ? `${Number(value) / 1000} s` : `${value} runs`,
    ]),
  );
