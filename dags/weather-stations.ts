/**
 * Readings of as many weather stations as there are that day: a task for each of them, each retried alone, a list of what
 * came in, and sheets of five stations each.
 */
import { dag, skip, waitAndRetry } from "meridian";
import { madeUp } from "./shared/made-up.ts";

const NAMES = ["Brocken", "Fichtelberg", "Greifswald", "Helgoland", "Hof", "List", "Potsdam", "Zugspitze"];

interface Reading {
  station: string;
  celsius: number;
}

export const weatherStations = dag(
  "weather_stations",
  {
    schedule: "0 6 * * *",
    zone: "Europe/Berlin",
    startDate: "2026-01-01",
    description: "A task for each station that reports that day, and what they say together",
    owner: "weather",
    tags: ["example", "mapping"],
  },
  ({ task, taskGroup }) => {
    // Known only when the run is there: some days a station more, some days fewer.
    const stations = task("stations", { label: "Stations of the day" }, ({ ds, log }) => {
      const next = madeUp(`stations of ${ds}`);
      const found = NAMES.filter(() => next() < 0.9).map((name, i) => ({
        name,
        isBusy: i === 1,
        isDown: i === 3,
      }));
      log.info(`${found.length} stations`);
      return found;
    });

    const readings = task(
      "read",
      {
        label: "Readings",
        expand: { station: stations },
        // People read read[Brocken] #0, where it would be read[0].
        mapLabel: "{{ station.name }}",
        maxActivePerRun: 4,
        retries: 2,
        retryDelay: "1s",
      },
      ({ inputs, ds, tryNumber, mapIndex, log }): Reading => {
        const { name, isBusy, isDown } = inputs.station;
        log.info(`instance ${mapIndex} is ${name}`);
        if (isDown) skip(`${name} is being repaired`);
        if (isBusy && tryNumber === 1) waitAndRetry("1s", `${name} is measuring right now`);
        return { station: name, celsius: Math.round(madeUp(`${name} on ${ds}`)() * 300 - 100) / 10 };
      },
    );

    // Under all_success the station that is skipped would skip this too.
    const coldest = task(
      "coldest",
      { label: "Coldest", inputs: { readings }, triggerRule: "none_failed" },
      ({ inputs, log }) => {
        log.info(`${inputs.readings.length} stations have answered`);
        return inputs.readings.reduce((a, b) => (a.celsius < b.celsius ? a : b));
      },
    );

    // Each sheet is drawn and stored by itself: store[1] waits for draw[1] alone.
    const sheets = taskGroup(
      "sheets",
      {
        label: "Sheets of five",
        expand: { some: readings },
        batch: 5,
        mapLabel: "from {{ some[0].station }}",
      },
      ({ some }) => {
        const drawn = task("draw", { inputs: { some }, triggerRule: "none_failed" }, ({ inputs }) =>
          inputs.some.map(({ station, celsius }) => `${station.padEnd(12)} ${celsius.toFixed(1)} °C`),
        );
        return task("store", { inputs: { drawn } }, ({ inputs, ds, mapIndex }) => ({
          path: `sheets/${ds}-${mapIndex}.txt`,
          lines: inputs.drawn.length,
        }));
      },
    );

    task(
      "report",
      { label: "Report", inputs: { coldest, sheets: sheets.returned }, triggerRule: "none_failed" },
      ({ inputs, ds }) => {
        const lines = inputs.sheets.reduce((sum, sheet) => sum + sheet.lines, 0);
        const where = inputs.coldest === undefined ? "nowhere" : inputs.coldest.station;
        return `${ds}: coldest in ${where}; ${lines} readings on ${inputs.sheets.length} sheets`;
      },
    );
  },
);
