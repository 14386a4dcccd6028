import { expect, it } from "vitest";

it("never known", () => expect(1).toBe(1));
throw new Error("this file cannot be loaded");
