/** Reads the five fields of a cron text (P1). What it does not know it refuses, with the field and the word. */
import { DefinitionError } from "../errors.ts";
import { didYouMean } from "../suggest.ts";

export interface MonthDays {
  /** 1-31, ascending. */
  readonly days: readonly number[];
  /** `L`: the last day of the month. */
  readonly last: boolean;
  /** `LW`: the last Monday-to-Friday day of the month. */
  readonly lastWorkday: boolean;
  /** `nW`: the Monday-to-Friday day of the month nearest to day n. */
  readonly nearest: readonly number[];
  readonly starred: boolean;
}

export interface WeekDays {
  /** 0-6, Sunday is 0, ascending. */
  readonly days: readonly number[];
  /** `d#n`: the nth such weekday of the month. */
  readonly nth: readonly { readonly day: number; readonly n: number }[];
  /** `dL`: the last such weekday of the month. */
  readonly last: readonly number[];
  readonly starred: boolean;
}

export interface CronSpec {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** The hour field begins with `*`: the schedule follows real time (P2). */
  readonly hourStarred: boolean;
  /** 1-12, ascending. */
  readonly months: readonly number[];
  readonly monthDays: MonthDays;
  readonly weekDays: WeekDays;
}

interface Field {
  readonly label: string;
  readonly place: number;
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
  /** `?` may stand for `*` (day fields only). */
  readonly question?: boolean;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const MINUTE: Field = { label: "minute", place: 1, min: 0, max: 59, names: [] };
const HOUR: Field = { label: "hour", place: 2, min: 0, max: 23, names: [] };
const MONTH_DAY: Field = { label: "day of month", place: 3, min: 1, max: 31, names: [], question: true };
const MONTH: Field = { label: "month", place: 4, min: 1, max: 12, names: MONTHS };
const WEEKDAY: Field = { label: "day of week", place: 5, min: 0, max: 6, names: WEEKDAYS, question: true };

/** The fields as sets, or a DefinitionError that says which word of which field is wrong. */
export function parseCron(text: string): CronSpec {
  const parts = text.trim().split(/\s+/);
  if (parts.length !== 5 || parts[0] === "") throw wrongCount(text, parts[0] === "" ? 0 : parts.length);
  const [minute, hour, monthDay, month, weekday] = parts as [string, string, string, string, string];
  const minutes = new Reader(text, MINUTE, minute);
  const hours = new Reader(text, HOUR, hour);
  const months = new Reader(text, MONTH, month);
  return {
    minutes: minutes.values(),
    hours: hours.values(),
    hourStarred: hours.starred,
    months: months.values(),
    monthDays: readMonthDays(new Reader(text, MONTH_DAY, monthDay)),
    weekDays: readWeekDays(new Reader(text, WEEKDAY, weekday)),
  };
}

function readMonthDays(reader: Reader): MonthDays {
  const nearest: number[] = [];
  let last = false;
  let lastWorkday = false;
  const days = reader.values((item) => {
    const workday = /^(\d+)W$/i.exec(item);
    if (workday) nearest.push(reader.value(workday[1]!, item));
    else if (/^L$/i.test(item)) last = true;
    else if (/^LW$/i.test(item)) lastWorkday = true;
    else return false;
    return true;
  });
  return { days, last, lastWorkday, nearest: ascending(nearest), starred: reader.starred };
}

function readWeekDays(reader: Reader): WeekDays {
  const nth: { day: number; n: number }[] = [];
  const last: number[] = [];
  const days = reader.values((item) => {
    const numbered = /^([^#/-]+)#(.*)$/.exec(item);
    const final = /^(\d|[a-z]{3})L$/i.exec(item);
    if (numbered) {
      if (!/^[1-5]$/.test(numbered[2]!)) throw reader.wrong(item, `expected a number from 1 to 5 after "#"`);
      nth.push({ day: reader.value(numbered[1]!, item), n: Number(numbered[2]) });
    } else if (final) last.push(reader.value(final[1]!, item));
    else return false;
    return true;
  });
  return { days, nth, last: ascending(last), starred: reader.starred };
}

/** One field: a list of `*`, values and ranges, each with an optional step. */
class Reader {
  readonly starred: boolean;
  private readonly text: string;
  private readonly field: Field;
  private readonly word: string;

  constructor(text: string, field: Field, word: string) {
    this.text = text;
    this.field = field;
    this.word = word;
    this.starred = word.startsWith("*") || (field.question === true && word.startsWith("?"));
  }

  /** Ascending, distinct; `special` takes the items only this field knows. */
  values(special: (item: string) => boolean = () => false): number[] {
    const items = this.word.split(",");
    return ascending(items.flatMap((item) => (special(item) ? [] : this.item(item, items.length))));
  }

  value(word: string, item: string): number {
    const { min, max, names } = this.field;
    const named = names.indexOf(word.toLowerCase());
    if (named >= 0) return named + min;
    if (!/^\d+$/.test(word)) {
      const hint = names.length > 0 ? `${this.expected()}${didYouMean(word, names)}` : this.expected();
      throw this.wrong(item, word === "" ? `a value is missing; ${hint}` : hint);
    }
    const value = Number(word);
    if (this.field === WEEKDAY && value === 7) return 0;
    if (value < min || value > max) throw this.wrong(item, `${word} is out of range; ${this.expected()}`);
    return value;
  }

  wrong(item: string, reason: string): DefinitionError {
    const { label, place } = this.field;
    const where = item === this.word ? `"${item}"` : `"${item}" in "${this.word}"`;
    return new DefinitionError(
      "schedule_invalid",
      `schedule "${this.text}", ${label} (field ${place}), ${where}: ${reason}`,
      { details: { schedule: this.text, field: label, word: item } },
    );
  }

  private item(item: string, count: number): number[] {
    const [base = "", stepWord, ...rest] = item.split("/");
    if (rest.length > 0) throw this.wrong(item, `expected one "/" at most, as in "*/15"`);
    const step = stepWord === undefined ? 1 : this.step(stepWord, item);
    const [low, high] = this.range(base, item, stepWord !== undefined, count);
    const values: number[] = [];
    for (let value = low; value <= high; value += step) {
      values.push(this.field === WEEKDAY ? value % 7 : value);
    }
    return values;
  }

  private range(base: string, item: string, stepped: boolean, count: number): [low: number, high: number] {
    const { min, max, question } = this.field;
    if (base === "*" || (base === "?" && question)) {
      if (count > 1 && !stepped)
        throw this.wrong(item, `"${base}" takes everything; remove the rest of the list`);
      return [min, max];
    }
    const [from = "", to, ...rest] = base.split("-");
    if (rest.length > 0) throw this.wrong(item, `expected a range like "1-5"`);
    const low = this.value(from, item);
    if (to === undefined) return [low, stepped ? max : low];
    let high = this.value(to, item);
    // Sunday ends a week as well as it begins one: "fri-sun", "5-7", "5-0" and "0-7".
    if (this.field === WEEKDAY && high === 0 && (low > 0 || (to === "7" && from !== "7"))) high = 7;
    if (high < low) {
      throw this.wrong(item, `the range runs backwards; write "${low}-${max},${min}-${high}"`);
    }
    return [low, high];
  }

  private step(word: string, item: string): number {
    const { min, max, label } = this.field;
    const most = max - min + 1;
    const step = Number(word);
    if (!/^\d+$/.test(word) || step < 1) {
      throw this.wrong(item, `expected a whole number from 1 to ${most} after "/"`);
    }
    if (step > most) {
      const advice = "for a period that is no part of an hour or day, give { everyMs }";
      throw this.wrong(
        item,
        `a step of ${step} is longer than the field: ${label} has ${most} values; ${advice}`,
      );
    }
    return step;
  }

  private expected(): string {
    const { min, max, names } = this.field;
    if (this.field === WEEKDAY) return "expected 0-7 (0 and 7 are Sunday) or sun-sat";
    return `expected ${min}-${max}${names.length > 0 ? ` or ${names[0]}-${names.at(-1)}` : ""}`;
  }
}

function wrongCount(text: string, count: number): DefinitionError {
  const advice =
    count === 6
      ? "there is no seconds field: remove the first, or give { everyMs } for a period below a minute"
      : `write them all, as in "0 2 * * *", or use a preset like "@daily"`;
  return new DefinitionError(
    "schedule_invalid",
    `schedule "${text}" has ${count} fields; expected 5 (minute, hour, day of month, month, day of week); ${advice}`,
    { details: { schedule: text } },
  );
}

function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}
