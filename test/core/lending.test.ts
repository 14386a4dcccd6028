import { describe, expect, it } from "vitest";
import { loansIn } from "../../core/lending.ts";

const member = (tenant: string, slots: number, used: number) => ({ tenant, slots, used });

describe("B12: who lends to whom", () => {
  it("B13: A 20, B 15, C 10, capacity 45: B uses 5 and C 20, of which ten are lent", () => {
    const loans = loansIn([member("A", 20, 0), member("B", 15, 5), member("C", 10, 20)], 45);
    expect(loans).toEqual([{ from: "A", to: "C", slots: 10 }]);
    const busy = loansIn([member("A", 20, 13), member("B", 15, 5), member("C", 10, 22)], 45);
    expect(busy).toEqual([
      { from: "B", to: "C", slots: 10 },
      { from: "A", to: "C", slots: 2 },
    ]);
  });

  it("B12: slots of the cohort that are nobody's own are lent first; nobody lends what he uses", () => {
    expect(loansIn([member("a", 2, 5), member("b", 3, 2), member("c", 0, 1)], 8)).toEqual([
      { from: null, to: "a", slots: 3 },
      { from: "b", to: "c", slots: 1 },
    ]);
    expect(loansIn([member("a", 2, 9), member("b", 3, 3)], 5)).toEqual([]);
    expect(loansIn([member("a", 2, 2)], 5)).toEqual([]);
  });
});
