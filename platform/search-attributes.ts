import type { Client, Connection } from "@temporalio/client";
import { Refused } from "../core/errors.ts";

/** Temporal's numbers for the types of search attributes (temporal.api.enums.v1.IndexedValueType). */
const TYPES = { KEYWORD: 2, DATETIME: 6 } as const;

/**
 * Registers search attributes that the namespace lacks. Idempotent. Where the right to do so is missing (Temporal
 * Cloud), one clear line says what to register.
 */
export async function ensureSearchAttributes(
  temporal: Client,
  namespace: string,
  wanted: Readonly<Record<string, keyof typeof TYPES>>,
): Promise<void> {
  const { operatorService } = temporal.connection as Connection;
  const names = Object.keys(wanted);
  try {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    const missing = names.filter((name) => !(name in (customAttributes ?? {})));
    if (missing.length === 0) return;
    await operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, TYPES[wanted[name]!]])),
    });
  } catch (cause) {
    throw new Refused(
      "search_attributes",
      `cannot register search attributes in namespace "${namespace}" (${(cause as Error).message}): register ${names
        .map((name) => `${name} (${wanted[name]})`)
        .join(", ")} with an account that may, then start again`,
      { cause },
    );
  }
}
