import { describe, expect, test } from "vitest";
import { dag, task } from "../../authoring/index.ts";

/** As someone without the compiler's help writes it. */
const looseDag = dag as (...args: unknown[]) => unknown;
const looseTask = task as (...args: unknown[]) => unknown;
const nothing = (): void => {};

function inSales(build: () => unknown, options: unknown = {}): { code: string; message: string } {
  try {
    looseDag("sales", options, () => void build());
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error("nothing was thrown");
}

describe("A1 B1: what no version could hold is an error at definition, so for CI too", () => {
  test.each<[string, object, object, string]>([
    ["doc", { doc: "a\0b" }, {}, 'dag "sales": option "doc" is a text with the character U+0000'],
    [
      "tag",
      { tags: ["x", "\ud800"] },
      {},
      'dag "sales": option "tags"[1] is a text with half of a surrogate pair',
    ],
    [
      "label",
      {},
      { label: "\0" },
      'dag "sales": task "a": option "label" is a text with the character U+0000',
    ],
    [
      "template",
      {},
      { templates: { p: { q: ["\0"] } } },
      'task "a": option "templates".p.q[0] is a text with',
    ],
  ])(
    "a text that the database cannot hold is refused where it stands: a %s",
    (_what, ofDag, ofTask, text) => {
      const error = inSales(() => looseTask("a", ofTask, nothing), ofDag);
      expect([error.code, error.message]).toEqual(["bad_option", expect.stringContaining(text)]);
    },
  );

  test("templates that contain themselves, or have no end", () => {
    const circle: Record<string, unknown> = {};
    circle["again"] = circle;
    let deep: unknown = "{{ ds }}";
    for (let i = 0; i < 20_000; i++) deep = [deep];
    for (const templates of [circle, { deep }]) {
      const { code, message } = inSales(() => looseTask("a", { templates }, nothing));
      expect([code, message]).toEqual(["bad_template", expect.stringContaining("does it contain itself?")]);
    }
  });

  test("an input of a name that no object keeps", () => {
    const inputs = (a: unknown) => Object.fromEntries([["__proto__", a]]);
    expect(inSales(() => looseTask("b", { inputs: inputs(looseTask("a", nothing)) }, nothing)).message).toBe(
      'dag "sales", task "b": input "__proto__" cannot be called so; give it another name',
    );
  });
});
