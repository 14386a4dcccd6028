import { beforeAll, describe, expect, it } from "vitest";

describe("behind a broken hook", () => {
  beforeAll(() => {
    throw new Error("no ground to stand on");
  });
  it("is never run", () => expect(1).toBe(1));
});
