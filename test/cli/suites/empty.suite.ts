import { describe } from "vitest";

describe("nothing", () => undefined);
