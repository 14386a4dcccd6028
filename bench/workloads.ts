/** What a workload looks like; both contestants build it from this description alone. */
export type Shape =
  | { readonly kind: "empty" }
  | { readonly kind: "chain"; readonly tasks: number; readonly fibo?: number }
  | { readonly kind: "fan-out"; readonly width: number }
  | { readonly kind: "burst"; readonly runs: number; readonly tasksPerRun: number; readonly clients: number }
  | { readonly kind: "clock"; readonly runs: number; readonly tasksPerRun: number }
  | { readonly kind: "mapped"; readonly items: number; readonly inFlight: number };

export const WORKLOAD_IDS = ["W0", "W1", "W2", "W3", "W3cron", "W5", "W6L", "W6S"] as const;
export type WorkloadId = (typeof WORKLOAD_IDS)[number];

/** One row of the bench: a shape, how often it is measured, and the unit of its headline figure. */
export interface Workload {
  readonly id: WorkloadId;
  readonly shape: Shape;
  readonly repetitions: number;
  readonly unit: "s" | "tasks/s";
  /** Absent from a plain `npm run bench`; runs when named. */
  readonly onRequest?: true;
}

const FULL: readonly Workload[] = [
  {
    id: "W0",
    shape: { kind: "empty" },
    repetitions: 20,
    unit: "s",
    onRequest: true,
  },
  { id: "W1", shape: { kind: "chain", tasks: 10 }, repetitions: 20, unit: "s" },
  {
    id: "W2",
    shape: { kind: "fan-out", width: 100 },
    repetitions: 9,
    unit: "tasks/s",
  },
  {
    id: "W3",
    shape: { kind: "burst", runs: 100, tasksPerRun: 3, clients: 20 },
    repetitions: 21,
    unit: "tasks/s",
  },
  {
    id: "W3cron",
    shape: { kind: "clock", runs: 100, tasksPerRun: 3 },
    repetitions: 5,
    unit: "tasks/s",
  },
  {
    id: "W5",
    shape: { kind: "mapped", items: 500, inFlight: 32 },
    repetitions: 3,
    unit: "tasks/s",
  },
  {
    id: "W6L",
    shape: { kind: "chain", tasks: 10, fibo: 33 },
    repetitions: 3,
    unit: "s",
  },
  {
    id: "W6S",
    shape: { kind: "chain", tasks: 40, fibo: 10 },
    repetitions: 3,
    unit: "s",
  },
];

/** The same shapes at a size that shows only that everything still works. */
function shrink(shape: Shape): Shape {
  switch (shape.kind) {
    case "empty":
      return shape;
    case "chain":
      return { ...shape, tasks: 3, ...(shape.fibo === undefined ? {} : { fibo: Math.min(shape.fibo, 20) }) };
    case "fan-out":
      return { ...shape, width: 5 };
    case "burst":
      return { ...shape, runs: 5, clients: 5 };
    case "clock":
      return { ...shape, runs: 5 };
    case "mapped":
      return { ...shape, items: 12, inFlight: 4 };
  }
}

/** The workloads of a run of the bench, in the order of the table. */
export function workloads(options: { smoke: boolean }): readonly Workload[] {
  if (!options.smoke) return FULL;
  return FULL.map((workload) => ({
    ...workload,
    shape: shrink(workload.shape),
    repetitions: 2,
    // Each repetition waits for a full minute to come.
    ...(workload.shape.kind === "clock" ? { onRequest: true } : {}),
  }));
}

/** How many tasks one repetition runs; an empty workflow counts as one. */
export function taskCount(shape: Shape): number {
  switch (shape.kind) {
    case "empty":
      return 1;
    case "chain":
      return shape.tasks;
    case "fan-out":
      return shape.width + 2;
    case "burst":
    case "clock":
      return shape.runs * shape.tasksPerRun;
    case "mapped":
      return shape.items;
  }
}

/** What one repetition is, in a few words. */
export function titleOf(shape: Shape): string {
  switch (shape.kind) {
    case "empty":
      return "empty workflow";
    case "chain":
      return `chain of ${shape.tasks}${shape.fibo === undefined ? "" : ` x fibo(${shape.fibo})`}`;
    case "fan-out":
      return `fan-out of ${shape.width}`;
    case "burst":
      return `burst of ${shape.runs} x ${shape.tasksPerRun}`;
    case "clock":
      return `${shape.runs} x ${shape.tasksPerRun} due at one instant`;
    case "mapped":
      return `${shape.items} mapped, ${shape.inFlight} in flight`;
  }
}
