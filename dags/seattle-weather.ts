/**
 * A month of Seattle's weather, day by day, into Postgres. Each run replaces what its interval covers, so a rerun
 * gives the same rows. The database is named by the connection `weather` (MERIDIAN_CONN_WEATHER).
 */
import { dag, fail, skip, task } from "meridian";
import pg from "pg";
import csv from "./data/seattle-weather.csv";

interface Day {
  day: string;
  precipitation_mm: number;
  temp_max: number;
  temp_min: number;
  wind: number;
  weather: string;
}

interface MonthSummary {
  month: string;
  days: number;
  wet_days: number;
  precipitation_mm: number;
  warmest: number;
  coldest: number;
}

const HEADER = "date,precipitation,temp_max,temp_min,wind,weather";
const KINDS = ["drizzle", "fog", "rain", "snow", "sun"];

const TABLES = `
  create table if not exists weather_day (
    day date primary key, precipitation_mm float8 not null, temp_max float8 not null, temp_min float8 not null,
    wind float8 not null, weather text not null);
  create table if not exists weather_month (
    month date primary key, days integer not null, wet_days integer not null, precipitation_mm float8 not null,
    warmest float8 not null, coldest float8 not null);`;

export const seattleWeather = dag(
  "seattle_weather",
  {
    schedule: "@daily",
    startDate: "2015-12-01",
    endDate: "2015-12-31",
    catchup: true,
    maxActiveRuns: 4,
    description: "Seattle's weather, day by day, and the month's summary",
    owner: "examples",
    tags: ["example", "postgres"],
    defaults: { retries: 2, retryDelay: "5s", executionTimeout: "1m" },
    doc: "Tables `weather_day` and `weather_month` of the connection `weather`. A run replaces what its day covers.",
  },
  () => {
    const extract = task("extract", ({ dataInterval, log }) => {
      const { from, until } = datesOf(dataInterval);
      const [header, ...lines] = csv.trim().split(/\r?\n/);
      if (header !== HEADER) fail(`the columns are ${header}; expected ${HEADER}`);
      const slice = lines.filter((line) => from <= dayOf(line) && dayOf(line) < until);
      log.info(`${slice.length} of ${lines.length} observations lie from ${from} up to ${until}`);
      if (slice.length === 0) skip(`no observation from ${from} up to ${until}`);
      return slice;
    });

    const validate = task("validate", { inputs: { lines: extract } }, ({ inputs }) => {
      const days = inputs.lines.map(parseLine);
      const wrong = days.map(problemIn).filter((problem) => problem !== null);
      if (wrong.length > 0) fail(wrong.join("; "));
      if (new Set(days.map(({ day }) => day)).size < days.length) fail("a day occurs twice");
      return days;
    });

    const load = task("load", { inputs: { days: validate } }, async (ctx) => {
      const { from, until } = datesOf(ctx.dataInterval);
      await inTransaction(ctx.connection("weather"), ctx.signal, async (db) => {
        // Two first runs would both find no table and one of them would fail.
        await db.query("select pg_advisory_xact_lock(hashtext('seattle_weather'))");
        await db.query(TABLES);
        await db.query("delete from weather_day where day >= $1 and day < $2", [from, until]);
        await db.query(
          "insert into weather_day select * from json_populate_recordset(null::weather_day, $1)",
          [JSON.stringify(ctx.inputs.days)],
        );
      });
      ctx.log.info(`replaced ${from} up to ${until} by ${ctx.inputs.days.length} rows`);
      return { from, until, rows: ctx.inputs.days.length };
    });

    task("summarise", { after: [load] }, async (ctx) => {
      const month = `${ctx.ds.slice(0, 7)}-01`;
      const summary = await inTransaction(ctx.connection("weather"), ctx.signal, async (db) => {
        // Days of a month load side by side. Whoever summarises last sees them all: the select begins under the lock.
        await db.query("select pg_advisory_xact_lock(hashtext('seattle_weather ' || $1))", [month]);
        await db.query("delete from weather_month where month = $1", [month]);
        await db.query(
          `insert into weather_month
           select $1::date, count(*), count(*) filter (where precipitation_mm > 0), round(sum(precipitation_mm)::numeric, 1),
                  max(temp_max), min(temp_min)
           from weather_day where day >= $1::date and day < $1::date + interval '1 month' having count(*) > 0`,
          [month],
        );
        const { rows } = await db.query<MonthSummary>(
          "select month::text, days, wet_days, precipitation_mm, warmest, coldest from weather_month where month = $1",
          [month],
        );
        return rows[0] ?? null;
      });
      if (summary === null) skip(`no day of ${month} is loaded`);
      ctx.log.info(
        `${summary.month}: ${summary.precipitation_mm} mm of rain on ${summary.wet_days} of ${summary.days} days`,
      );
      return summary;
    });
  },
);

/** The calendar dates of an interval, the second one excluded. */
function datesOf(interval: { readonly start: Date; readonly end: Date }): { from: string; until: string } {
  return { from: interval.start.toISOString().slice(0, 10), until: interval.end.toISOString().slice(0, 10) };
}

const dayOf = (line: string): string => line.slice(0, 10);

function parseLine(line: string): Day {
  const [, rain, max, min, wind, weather = ""] = line.split(",");
  const number = (text: string | undefined): number => (text ? Number(text) : Number.NaN);
  return {
    day: dayOf(line),
    precipitation_mm: number(rain),
    temp_max: number(max),
    temp_min: number(min),
    wind: number(wind),
    weather,
  };
}

function problemIn({ day, precipitation_mm, temp_max, temp_min, wind, weather }: Day): string | null {
  if (![precipitation_mm, temp_max, temp_min, wind].every(Number.isFinite))
    return `${day}: a number is missing or no number`;
  if (precipitation_mm < 0 || wind < 0) return `${day}: rain or wind is below 0`;
  if (temp_min > temp_max)
    return `${day}: it was colder at its warmest (${temp_max}) than at its coldest (${temp_min})`;
  return KINDS.includes(weather) ? null : `${day}: unknown weather "${weather}"`;
}

/** All of `work` or nothing of it. A stopped try ends its query at once. */
async function inTransaction<T>(
  url: string,
  signal: AbortSignal,
  work: (db: pg.Client) => Promise<T>,
): Promise<T> {
  const db = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  // A connection lost between two queries: the next one reports it.
  db.on("error", () => undefined);
  const stop = () => void db.end();
  try {
    await db.connect();
    signal.addEventListener("abort", stop, { once: true });
    signal.throwIfAborted();
    await db.query("begin");
    const result = await work(db);
    await db.query("commit");
    return result;
  } finally {
    signal.removeEventListener("abort", stop);
    await db.end();
  }
}
