import { createMiddleware } from "hono/factory";
import type { ApiEnv } from "./deps.ts";
import { problem } from "./errors.ts";

export const USER_HEADER = "X-Meridian-User";
const NOBODY = "anonymous@api";
const LONGEST = 100;

/**
 * Who asks, by their own word: percent-encoded UTF-8, such as `anna@cli`. It is shown beside what they changed and
 * gives no rights; until there are users, nobody checks it.
 */
export const whoAsks = () =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const given = c.req.header(USER_HEADER);
    const who = given === undefined ? NOBODY : decoded(given);
    if (who === null) {
      const detail = `header ${USER_HEADER}: expected 1 to ${LONGEST} characters that can be printed, percent-encoded, such as anna@cli`;
      return problem(c, 400, "bad_request", detail, { issues: [{ at: USER_HEADER, message: detail }] });
    }
    c.set("who", who);
    return next();
  });

function decoded(text: string): string | null {
  try {
    const who = decodeURIComponent(text).trim();
    return who !== "" && who.length <= LONGEST && !/[\p{C}\p{Zl}\p{Zp}]/u.test(who) ? who : null;
  } catch {
    return null;
  }
}
