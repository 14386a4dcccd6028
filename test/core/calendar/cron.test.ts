import { describe, expect, it } from "vitest";
import { parseCron } from "../../../core/calendar/cron.ts";
import { refusal } from "./helpers.ts";

describe("parseCron", () => {
  const field = (place: number) => (word: string) => {
    const words = ["*", "*", "*", "*", "*"];
    words[place] = word;
    const spec = parseCron(words.join(" "));
    return [spec.minutes, spec.hours, spec.monthDays.days, spec.months, spec.weekDays.days][place];
  };

  it.each([
    [0, "5", [5]],
    [0, "05", [5]],
    [0, "*/20", [0, 20, 40]],
    [0, "10-30/10", [10, 20, 30]],
    [0, "50/5", [50, 55]],
    [0, "2,3,5,8,3", [2, 3, 5, 8]],
    [0, "*/60", [0]],
    [1, "20-23,1", [1, 20, 21, 22, 23]],
    [1, "*/24", [0]],
    [2, "*/15", [1, 16, 31]],
    [3, "jan,JUL-sep", [1, 7, 8, 9]],
    [3, "*/3", [1, 4, 7, 10]],
    [4, "0", [0]],
    [4, "7", [0]],
    [4, "7-7", [0]],
    [4, "mon-fri", [1, 2, 3, 4, 5]],
    [4, "fri-sun", [0, 5, 6]],
    [4, "5-7", [0, 5, 6]],
    [4, "6-0", [0, 6]],
    [4, "0-7", [0, 1, 2, 3, 4, 5, 6]],
    [4, "1-7/2", [0, 1, 3, 5]],
    [4, "*/2", [0, 2, 4, 6]],
    [4, "?", [0, 1, 2, 3, 4, 5, 6]],
  ] as const)("field %i: %s", (place, word, values) => {
    expect(field(place)(word)).toEqual(values);
  });

  it("P1: knows which fields begin with a star", () => {
    const starred = (text: string) => {
      const { hourStarred, monthDays, weekDays } = parseCron(text);
      return [hourStarred, monthDays.starred, weekDays.starred];
    };
    expect(starred("0 */2 */2 * */2")).toEqual([true, true, true]);
    expect(starred("0 0-23 1-31 * 0-6")).toEqual([false, false, false]);
    expect(starred("0 0/2 ? * ?")).toEqual([false, true, true]);
  });

  it("takes any white space between fields", () => {
    expect(parseCron("  0\t2  *  * * ")).toEqual(parseCron("0 2 * * *"));
  });

  it.each([
    ["0 25 * * *", 'schedule "0 25 * * *", hour (field 2), "25": 25 is out of range; expected 0-23'],
    ["60 * * * *", "minute (field 1)"],
    ["0 0 0 * *", "day of month (field 3)"],
    ["0 0 32 * *", "expected 1-31"],
    ["0 0 * 13 *", "expected 1-12 or jan-dec"],
    ["0 0 * juni *", 'did you mean "jun"?'],
    ["0 0 * * 8", "expected 0-7 (0 and 7 are Sunday) or sun-sat"],
    ["0 0 * * L", 'day of week (field 5), "L"'],
    ["0 L * * *", 'hour (field 2), "L"'],
    ["0 ? * * *", 'hour (field 2), "?"'],
    ["0 22-2 * * *", 'the range runs backwards; write "22-23,0-2"'],
    ["0 0 * * fri-mon", 'write "5-6,0-1"'],
    ["0,,5 * * * *", 'minute (field 1), "" in "0,,5": a value is missing'],
    ["-5 * * * *", "a value is missing"],
    ["1-2-3 * * * *", 'expected a range like "1-5"'],
    ["*/5/5 * * * *", 'expected one "/" at most'],
    ["*/0 * * * *", 'expected a whole number from 1 to 60 after "/"'],
    ["*/x * * * *", 'expected a whole number from 1 to 60 after "/"'],
    ["*/90 * * * *", "a step of 90 is longer than the field"],
    ["*,5 * * * *", '"*" takes everything; remove the rest of the list'],
    ["1.5 * * * *", "expected 0-59"],
    ["0 0 32W * *", "32 is out of range"],
    ["0 0 L-3 * *", "expected 1-31"],
    ["0 0 1-5W * *", "expected 1-31"],
    ["0 0 * * 1#6", 'expected a number from 1 to 5 after "#"'],
    ["0 0 * * 1#", 'expected a number from 1 to 5 after "#"'],
    ["0 0 * * 9#1", "9 is out of range"],
    ["0 0 * * 1-5#2", "day of week (field 5)"],
    ["0 0 * * 5LL", "day of week (field 5)"],
    ["* * * *", "has 4 fields; expected 5"],
    ["0 0 0 * * *", "there is no seconds field"],
    ["", "has 0 fields"],
    ["daily", "has 1 fields"],
  ])("refuses %j", (text, words) => {
    const { code, message } = refusal(() => parseCron(text));
    expect(code).toBe("schedule_invalid");
    expect(message).toContain(words);
  });
});
