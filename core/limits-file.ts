/** The limits file: what the installation allows to whom. An author writes none of it. */
import { globMatches } from "./glob.ts";
import { CLASS_NAMES, type ClassNumber } from "./limits.ts";
import type { RunType } from "./states.ts";

/** Stored as 2, 1, 0. */
export type PriorityClass = "critical" | "standard" | "best_effort";

export interface LimitsFile {
  /** Pools that are not named here are left as they are. */
  readonly pools: Readonly<
    Record<
      string,
      {
        readonly slots: number;
        readonly description?: string;
        /** Slots that runs by hand cannot take. */
        readonly scheduledFloor?: number;
      }
    >
  >;
  /** Capacity that its tenants share and lend each other. */
  readonly cohorts: Readonly<Record<string, { readonly slots: number }>>;
  readonly tenants: Readonly<
    Record<
      string,
      {
        readonly slots: number;
        readonly cohort?: string;
        /** With what it borrows. */
        readonly most?: number;
        readonly coreHoursPerDay?: number;
      }
    >
  >;
  /** The first that fits a DAG (or, for runs by hand, a DAG and its caller) counts; globs with * and ?. */
  readonly rules: readonly LimitsRule[];
  /** Of one run by hand: the most cores that any task of it may ask for. */
  readonly adhoc: { readonly maxCores?: number };
  /** Who may use a worker queue. */
  readonly queues: Readonly<
    Record<
      string,
      { readonly tenants: readonly string[]; readonly otherwise: "refuse" | { readonly redirect: string } }
    >
  >;
  /** Triggers (not scheduled runs) in any stretch of that length. */
  readonly rates: readonly {
    readonly per: "dag" | "tenant" | "caller";
    readonly match?: string;
    readonly triggers: number;
    readonly withinMs: number;
  }[];
  readonly queued: {
    /** Per DAG. */
    readonly mostRuns?: number;
    readonly mostRunsPerTenant?: number;
    /** A run that has waited longer for its place fails. */
    readonly timeoutMs?: number;
  };
}

export interface LimitsRule {
  readonly dags?: string;
  readonly owner?: string;
  readonly tag?: string;
  /** The rule is for runs by hand alone, of whoever fits; what it leaves out is as for the DAG's other runs. */
  readonly caller?: string;
  readonly tenant?: string;
  readonly class?: PriorityClass;
}

export const PRIORITY_CLASSES = ["critical", "standard", "best_effort"] as const satisfies PriorityClass[];

export const classNumber = (name: PriorityClass): ClassNumber => CLASS_NAMES.indexOf(name) as ClassNumber;

export const NO_LIMITS: LimitsFile = {
  pools: {},
  cohorts: {},
  tenants: {},
  rules: [],
  adhoc: {},
  queues: {},
  rates: [],
  queued: {},
};

/** What rules look at. */
export interface Placed {
  readonly dagId: string;
  readonly owner: string;
  readonly tags: readonly string[];
}

export interface Place {
  readonly tenant: string | null;
  readonly class: PriorityClass;
}

/** A place as rows have it. */
export interface PlaceNumbered {
  readonly tenant: string | null;
  readonly class: ClassNumber;
}

const fits = (rule: LimitsRule, { dagId, owner, tags }: Placed): boolean =>
  (rule.dags === undefined || globMatches(rule.dags, dagId)) &&
  (rule.owner === undefined || globMatches(rule.owner, owner)) &&
  (rule.tag === undefined || tags.some((tag) => globMatches(rule.tag!, tag)));

/**
 * The tenant and priority class of a DAG, or of its runs by hand by `caller`. Without a rule that fits: no tenant,
 * standard.
 */
export function placeOf(
  { rules }: Pick<LimitsFile, "rules">,
  { caller, ...dag }: Placed & { readonly caller: string | null },
): Place {
  return (
    (caller === null ? null : placeByCaller({ rules }, { ...dag, caller })) ??
    placeBy(firstFor(rules, dag, null), { tenant: null, class: "standard" })
  );
}

/** The tenant and class of a run, as it is stored; `caller` counts where the run was made by hand. */
export function placeOfRun(
  file: Pick<LimitsFile, "rules">,
  dag: Placed,
  { runType, caller }: { readonly runType: RunType; readonly caller: string | null },
): PlaceNumbered {
  const place = placeOf(file, { ...dag, caller: runType === "manual" ? caller : null });
  // Backfills are of the lowest class, whatever their DAG's.
  return { tenant: place.tenant, class: runType === "backfill" ? 0 : classNumber(place.class) };
}

/** The place of runs by hand; null: no rule for callers counts there, and it is the DAG's own. */
export function placeByCaller(
  file: Pick<LimitsFile, "rules">,
  { caller, ...dag }: Placed & { readonly caller: string },
): Place | null {
  const rule = firstFor(file.rules, dag, caller);
  return rule?.caller === undefined ? null : placeBy(rule, placeOf(file, { ...dag, caller: null }));
}

const firstFor = (rules: readonly LimitsRule[], dag: Placed, caller: string | null): LimitsRule | undefined =>
  rules.find(
    (rule) =>
      (rule.caller === undefined || (caller !== null && globMatches(rule.caller, caller))) && fits(rule, dag),
  );

const placeBy = (rule: LimitsRule | undefined, usual: Place): Place => ({
  tenant: rule?.tenant ?? usual.tenant,
  class: rule?.class ?? usual.class,
});
