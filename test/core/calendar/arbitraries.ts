import fc from "fast-check";
import { parseSchedule, type Timetable } from "../../../core/calendar/timetable.ts";
import { at, ZONES } from "./helpers.ts";

/** Every property test is repeatable; a failure prints the path to it. */
export const SEED = 20260329;
/** For a machine that is busy with other things; a free one needs a tenth. */
export const PATIENCE_MS = 60_000;

function field(min: number, max: number, names: readonly string[] = []): fc.Arbitrary<string> {
  const value = fc.integer({ min, max });
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const step = fc.integer({ min: 1, max: Math.min(12, max) });
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant("*") },
    { weight: 3, arbitrary: value.map(String) },
    fc.tuple(range, step).map(([base, by]) => `${base}/${by}`),
    range,
    step.map((by) => `*/${by}`),
    fc.array(value, { minLength: 2, maxLength: 4 }).map((values) => values.join(",")),
    ...(names.length > 0 ? [fc.constantFrom(...names)] : []),
  );
}

const minute = field(0, 59);
/** Small hours are where clocks change. */
const hour = fc.oneof(field(0, 23), field(0, 4));
const month = fc.oneof({ weight: 3, arbitrary: fc.constant("*") }, field(1, 12, ["jan", "OCT"]));
const weekday = fc.oneof(
  { weight: 2, arbitrary: fc.constant("*") },
  field(0, 7, ["sun", "fri", "mon-fri", "fri#2", "5L"]),
);
const monthDay = fc.oneof(
  { weight: 2, arbitrary: fc.constant("*") },
  field(1, 28, ["L", "15W", "LW", "30", "31"]),
);

export const cronText = fc.tuple(minute, hour, monthDay, month, weekday).map((words) => words.join(" "));

const zone = fc.constantFrom(...ZONES);

/** Timetables that fire at least once in a while. */
export const cronTable: fc.Arbitrary<Timetable> = fc.tuple(cronText, zone).chain(([text, name]) => {
  try {
    return fc.constant(parseSchedule(text, name));
  } catch (error) {
    if ((error as { code?: unknown }).code === "schedule_never_fires")
      return fc.constant(parseSchedule("@daily", name));
    throw error;
  }
});

export const timetable: fc.Arbitrary<Timetable> = fc.oneof(
  { weight: 4, arbitrary: cronTable },
  fc
    .tuple(fc.integer({ min: 1, max: 10 * 86_400_000 }), instant("1990-01-01", "2030-01-01"))
    .map(([everyMs, anchorAt]) =>
      parseSchedule({ everyMs, anchor: new Date(anchorAt).toISOString() }, "UTC"),
    ),
);

export function instant(from: string, to: string): fc.Arbitrary<number> {
  return fc.integer({ min: at(from), max: at(to) });
}
