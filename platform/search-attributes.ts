import { setTimeout as sleep } from "node:timers/promises";
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

/** The server reads its list of search attributes again every few seconds; until then it refuses starts that carry them. */
const KNOWN_WITHIN_MS = 30_000;
const ASK_AGAIN_MS = 200;

/**
 * Registers search attributes that the namespace lacks, and waits until the server takes them. Idempotent. Where the
 * right to do so is missing (Temporal Cloud), one clear line says what to register.
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
    await untilKnown(temporal, namespace);
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

async function untilKnown(temporal: Client, namespace: string): Promise<void> {
  const { dag, logicalDate, runType } = SEARCH_ATTRIBUTES;
  const query = `${dag.name} = '' AND ${runType.name} = '' AND ${logicalDate.name} > '2020-01-01T00:00:00Z'`;
  for (const until = Date.now() + KNOWN_WITHIN_MS; ; await sleep(ASK_AGAIN_MS)) {
    try {
      await temporal.workflowService.countWorkflowExecutions({ namespace, query });
      return;
    } catch (error) {
      // Starts that come too early are left to the outbox.
      if (Date.now() > until) return;
      if (!/search attribute/i.test((error as Error).message)) throw error;
    }
  }
}
