import { createRoute } from "@hono/zod-openapi";
import { Conflict } from "../core/errors.ts";
import { CLASS_NAMES, type ClassNumber } from "../core/limits.ts";
import type { Db } from "../db/connection.ts";
import {
  readDials,
  setDial,
  undoDial,
  type DialBounds,
  type DialRow,
  type DialSet,
} from "../db/pools/dial.ts";
import { admissionPass } from "../db/pools/pass.ts";
import { countBelow, readDialLoad } from "../db/read/dial.ts";
import { DialPreview, DialState, DialTurned, type DialTurn } from "./contracts-dial.ts";
import type { AppDeps } from "./deps.ts";
import { DialBody, DialOffBody, DialQuery } from "./requests-dial.ts";
import { newRoutes } from "./requests.ts";
import { iso, json } from "./shape.ts";

const TURNS = 20;

const bodyOf = <T>(schema: T) => ({
  body: { required: true as const, content: { "application/json": { schema } } },
});

const showDial = createRoute({
  method: "get",
  path: "/dial",
  summary: "The emergency dial: whether it is in force, what it holds, and its last turns",
  responses: { 200: json(DialState, "The dial") },
});
const turnDial = createRoute({
  method: "put",
  path: "/dial",
  summary: "Turn the emergency dial: it bounds what begins from now on, over all pools",
  request: bodyOf(DialBody),
  responses: { 200: json(DialTurned, "It is in force") },
});
const liftDial = createRoute({
  method: "delete",
  path: "/dial",
  summary: "Lift the emergency dial. 409 when it is not in force",
  request: bodyOf(DialOffBody),
  responses: { 200: json(DialTurned, "It bounds nothing any more") },
});
const undoTurn = createRoute({
  method: "post",
  path: "/dial/undo",
  summary: "Bring back what was in force before the dial's last turn. 409 when it was never turned",
  responses: { 200: json(DialTurned, "It is as before") },
});
const previewDial = createRoute({
  method: "get",
  path: "/dial/preview",
  summary: "What a turn of the emergency dial would hold back now",
  request: { query: DialQuery },
  responses: { 200: json(DialPreview, "What it would do") },
});

interface BoundsGiven {
  readonly tries?: number | null | undefined;
  readonly belowClass?: "standard" | "critical" | null | undefined;
  readonly belowPriority?: number | null | undefined;
}

export const dialRoutes = (deps: AppDeps) => {
  /** Behind a turn: what it lets begin begins now. */
  const turned = async ({ preempted }: DialSet): Promise<DialTurned> => {
    await admissionPass(deps.db);
    return { ...(await stateOf(deps.db)), preempted };
  };
  return newRoutes()
    .openapi(showDial, async (c) => c.json(await stateOf(deps.reader ?? deps.db), 200))
    .openapi(previewDial, async (c) => {
      const db = deps.reader ?? deps.db;
      const bounds = boundsOf(c.req.valid("query"));
      const { running, held } = await readDialLoad(db, bounds);
      return c.json({ running, wouldHold: held, wouldGiveBack: await countBelow(db, bounds) }, 200);
    })
    .openapi(turnDial, async (c) => {
      const { reason, preempt, ...bounds } = c.req.valid("json");
      const setting = { ...boundsOf(bounds), who: c.get("who"), reason: reason.trim() };
      return c.json(await turned(await setDial(deps.db, setting, preempt === true)), 200);
    })
    .openapi(liftDial, async (c) => {
      const [last] = await readDials(deps.db, 1);
      if (last === undefined || !isBound(last))
        throw new Conflict("dial_off", "the emergency dial is not in force: there is nothing to lift");
      const setting = { ...boundsOf({}), who: c.get("who"), reason: c.req.valid("json").reason.trim() };
      return c.json(await turned(await setDial(deps.db, setting, false)), 200);
    })
    .openapi(undoTurn, async (c) => {
      const set = await undoDial(deps.db, c.get("who"));
      if (set === null)
        throw new Conflict(
          "dial_never_turned",
          "the emergency dial was never turned: there is nothing to undo",
        );
      return c.json(await turned(set), 200);
    });
};

const isBound = (row: DialBounds): boolean => (row.tries ?? row.belowClass ?? row.belowPriority) !== null;

const boundsOf = ({ tries, belowClass = null, belowPriority }: BoundsGiven): DialBounds => ({
  tries: tries ?? null,
  belowClass: belowClass === null ? null : (CLASS_NAMES.indexOf(belowClass) as ClassNumber),
  belowPriority: belowPriority ?? null,
});

async function stateOf(db: Db): Promise<DialState> {
  const rows = await readDials(db, TURNS);
  const [last] = rows;
  const inForce =
    last === undefined || !isBound(last) ? null : { ...shapeTurn(last), ...(await readDialLoad(db, last)) };
  return { inForce, turns: rows.map(shapeTurn) };
}

const shapeTurn = ({ id, at, who, reason, tries, belowClass, belowPriority }: DialRow): DialTurn => ({
  id,
  at: iso(at),
  who,
  reason,
  tries,
  // Below the lowest class is nothing.
  belowClass:
    belowClass === null || belowClass === 0 ? null : (CLASS_NAMES[belowClass] as "standard" | "critical"),
  belowPriority,
});
