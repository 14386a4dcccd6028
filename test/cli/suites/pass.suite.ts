import { expect, it } from "vitest";

it("one", () => expect(1).toBe(1));
it("two", () => expect(2).toBe(2));
