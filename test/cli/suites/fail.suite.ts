import { expect, it } from "vitest";

it("good", () => expect(1).toBe(1));
it("bad", () => expect(1).toBe(2));
