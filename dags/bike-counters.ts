/**
 * One DAG for each city, made in a loop, each on its own calendar. A day in Berlin has 23 hours in March and 25 in
 * October; what counts is the run's interval.
 */
import { dag, skip, task } from "meridian";
import { madeUp } from "./shared/made-up.ts";

const HOUR_MS = 3_600_000;

const CITIES = [
  { city: "berlin", zone: "Europe/Berlin", bridges: ["oberbaum", "jannowitz"] },
  { city: "seattle", zone: "America/Los_Angeles", bridges: ["fremont"] },
  { city: "tokyo", zone: "Asia/Tokyo", bridges: ["rainbow", "sumida", "komagata"] },
];

for (const { city, zone, bridges } of CITIES) {
  dag(
    `bikes_${city}`,
    {
      schedule: "@daily",
      zone,
      startDate: "2026-01-01",
      description: `Bicycles over the bridges of ${city}, by the hour`,
      owner: "mobility",
      tags: ["example", "loop", city],
    },
    () => {
      const counts = bridges.map((bridge) =>
        task(`count_${bridge}`, ({ dataInterval }) => {
          const hours = hoursOf(dataInterval);
          if (hours.length === 0) skip("the run's interval is empty; give it a day as logical date");
          return hours.map((hour) => ({ hour, bikes: bikesOver(bridge, hour) }));
        }),
      );

      const inputs = Object.fromEntries(bridges.map((bridge, i) => [bridge, counts[i]!]));
      task("busiest_hour", { inputs }, ({ inputs, ds, log }) => {
        const all = Object.entries(inputs).flatMap(([bridge, hours]) =>
          hours.map((one) => ({ bridge, ...one })),
        );
        const busiest = all.reduce((a, b) => (b.bikes > a.bikes ? b : a));
        const hours = Object.values(inputs)[0]!.length;
        log.info(`${ds} had ${hours} hours; most bicycles, ${busiest.bikes}, crossed ${busiest.bridge}`);
        return { day: ds, hours, ...busiest };
      });
    },
  );
}

/** The start of each hour, in UTC. */
function hoursOf({ start, end }: { readonly start: Date; readonly end: Date }): string[] {
  const hours = (end.getTime() - start.getTime()) / HOUR_MS;
  return Array.from({ length: hours }, (_, n) => new Date(start.getTime() + n * HOUR_MS).toISOString());
}

/** Stands for a query of the counter. */
function bikesOver(bridge: string, hour: string): number {
  return Math.floor(madeUp(`${bridge} ${hour}`)() * 400);
}
