import type { Client, Connection } from "@temporalio/client";
import { defineSearchAttributeKey, SearchAttributeType } from "@temporalio/common";
import { Refused } from "../core/errors.ts";

/** Search attributes that runs carry, for Temporal Web (design 9). `meridian setup` registers them. */
export const SEARCH_ATTRIBUTES = {
  dag: defineSearchAttributeKey("MeridianDag", SearchAttributeType.KEYWORD),
  logicalDate: defineSearchAttributeKey("MeridianLogicalDate", SearchAttributeType.DATETIME),
  runType: defineSearchAttributeKey("MeridianRunType", SearchAttributeType.KEYWORD),
} as const;

/** Temporal's numbers for the types of search attributes (temporal.api.enums.v1.IndexedValueType). */
const TYPES = { KEYWORD: 2, DATETIME: 6 } as const;

/**
 * Registers search attributes that the namespace lacks. Idempotent. Where the right to do so is missing (Temporal
 * Cloud), one clear line says what to register.
 */
export async function ensureSearchAttributes(temporal: Client, namespace: string): Promise<void> {
  const { operatorService } = temporal.connection as Connection;
  const wanted = Object.values(SEARCH_ATTRIBUTES);
  try {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    const missing = wanted.filter(({ name }) => !(name in (customAttributes ?? {})));
    if (missing.length === 0) return;
    await operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map(({ name, type }) => [name, TYPES[type]])),
    });
  } catch (cause) {
    throw new Refused(
      "search_attributes",
      `cannot register search attributes in namespace "${namespace}" (${(cause as Error).message}): register ${wanted
        .map(({ name, type }) => `${name} (${type})`)
        .join(", ")} with an account that may, then start again`,
      { cause },
    );
  }
}
