/** The way to the API: the published client. */
import { ApiError, createClient } from "../../../remote/index.ts";

export const api = createClient({
  url: location.origin,
  // Who changed it, as runs and pauses show it, until there are users.
  user: "page",
  // A poll is repeated by the next one, a change by whoever presses the button again.
  attempts: 1,
  // More than the page ever polls at once. An answer that stays the same object is not painted anew.
  remember: 40,
});

const NOT_ITS: ReadonlySet<number> = new Set([0, 502, 503, 504]);

/** No answer at all, or a proxy's in place of the API's. */
export const isAway = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.code === "api_away" || error.code === "not_the_api") &&
  NOT_ITS.has(error.status);
