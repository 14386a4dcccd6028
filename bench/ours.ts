import type { Contestant } from "./contestant.ts";

/** Meridian in embedded mode: API and worker in this process, each run triggered by one POST. */
export function createOurs(): Contestant {
  throw new Error("bench/ours.ts: Meridian is not wired to the bench yet; run with `--only bare`");
}
