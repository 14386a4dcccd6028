/**
 * The typed client of the API, for pages, programs and CI. It needs nothing but `fetch`.
 *
 * @example
 * import { createClient } from "meridian/client";
 */
export { createClient } from "./client.ts";
export { ApiError } from "./errors.ts";
export type {
  CellSelection,
  ClearSelection,
  Client,
  DagFilter,
  FileFilter,
  LiveEvent,
  RunFilter,
  TriggerOptions,
} from "./client.ts";
export type { DialBounds, DialWish } from "./dial.ts";
export type { ProblemDetails } from "./errors.ts";
export type { CallOptions, ChangeOptions, ConnectOptions, StreamOptions } from "./http.ts";
export type { Pages } from "./pages.ts";
export type { IdsOf, TriggerParams } from "./types.ts";
export type { TaskOf, TryOf } from "./tasks.ts";
export type { WaitOptions } from "./wait.ts";
export type { WaitFilter } from "./waits.ts";
