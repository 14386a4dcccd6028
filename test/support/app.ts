/** The API over a product of a test, without a log or an object in reach unless `given`. */
import { createApp, type AppDeps } from "../../api/app.ts";
import type { Product } from "./product.ts";

export const appOf = ({ pool, client }: Product, given: Partial<AppDeps> = {}) =>
  createApp({
    db: pool,
    client,
    logs: { read: () => Promise.reject(new Error("asked for a log")) },
    objects: { open: () => Promise.reject(new Error("asked for an object")) },
    temporalWeb: null,
    allowedHosts: [],
    webFolder: null,
    version: "test",
    ...given,
  });
