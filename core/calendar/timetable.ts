/** When a DAG's intervals begin and end: a cron text in a zone, a fixed period, or only by hand. */
export type Timetable =
  | { readonly kind: "cron"; readonly cron: string; readonly zone: string }
  | { readonly kind: "interval"; readonly everyMs: number; readonly anchor: string }
  | { readonly kind: "manual" };
