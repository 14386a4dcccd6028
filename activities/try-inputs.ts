/** The inputs of a try, from what the database gives of its upstreams. */
import type { StoredValue } from "../core/body.ts";
import type { InputRef } from "../core/inputs.ts";
import type { Pick } from "../core/mapping.ts";

/** An input, or a part of one, that is too large to stand here. */
export type StoredInput =
  | { readonly stored: StoredValue; readonly pick?: Pick }
  | { readonly parts: readonly ({ readonly value: unknown } | { readonly stored: StoredValue })[] };

/** What a try reads of its upstreams, by input name; one whose upstream has no output has no key. */
export interface TryInputs {
  readonly values: Readonly<Record<string, unknown>>;
  readonly stored: Readonly<Record<string, StoredInput>>;
}

export interface InputPart {
  readonly name: string;
  readonly output: unknown;
  readonly stored: StoredValue | null;
}

/** Whether the database must be asked for it. */
export const isRead = (ref: InputRef): boolean => typeof ref === "string" || !("value" in ref);

export function assemble(refs: Readonly<Record<string, InputRef>>, given: readonly InputPart[]): TryInputs {
  const values: Record<string, unknown> = {};
  const stored: Record<string, StoredInput> = {};
  for (const [name, ref] of Object.entries(refs)) {
    if (typeof ref !== "string" && "value" in ref) {
      values[name] = ref.value;
      continue;
    }
    const parts = given.filter((part) => part.name === name);
    const isList = typeof ref !== "string" && ref.all === true && ref.pick?.count !== null;
    if (isList) {
      if (parts.every((part) => part.stored === null)) values[name] = parts.map((part) => part.output);
      else {
        stored[name] = {
          parts: parts.map((part) =>
            part.stored === null ? { value: part.output } : { stored: part.stored },
          ),
        };
      }
      continue;
    }
    const [part] = parts;
    if (part === undefined) continue;
    // A part of a list that is stored apart is taken where it is read; of all others the database took it.
    const pick = typeof ref !== "string" && ref.all !== true ? ref.pick : undefined;
    if (part.stored === null) values[name] = part.output;
    else stored[name] = pick === undefined ? { stored: part.stored } : { stored: part.stored, pick };
  }
  return { values, stored };
}
