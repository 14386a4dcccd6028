export type PriorityClass = "critical" | "standard" | "best_effort";
export interface LimitsFile {
  readonly pools: Readonly<
    Record<
      string,
      { readonly slots: number; readonly description?: string; readonly scheduledFloor?: number }
    >
  >;
  readonly cohorts: Readonly<Record<string, { readonly slots: number }>>;
  readonly tenants: Readonly<
    Record<
      string,
      {
        readonly slots: number;
        readonly cohort?: string;
        readonly most?: number;
        readonly coreHoursPerDay?: number;
      }
    >
  >;
  readonly rules: readonly {
    readonly dags?: string;
    readonly owner?: string;
    readonly tag?: string;
    readonly caller?: string;
    readonly tenant?: string;
    readonly class?: PriorityClass;
  }[];
  readonly adhoc: { readonly maxCores?: number };
  readonly queues: Readonly<
    Record<
      string,
      { readonly tenants: readonly string[]; readonly otherwise: "refuse" | { readonly redirect: string } }
    >
  >;
  readonly rates: readonly {
    readonly per: "dag" | "tenant" | "caller";
    readonly match?: string;
    readonly triggers: number;
    readonly withinMs: number;
  }[];
  readonly queued: {
    readonly mostRuns?: number;
    readonly mostRunsPerTenant?: number;
    readonly timeoutMs?: number;
  };
}
