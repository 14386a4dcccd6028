import { bodyLimit } from "hono/body-limit";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { problem } from "./errors.ts";

const OWN_HOSTS = ["localhost", "127.0.0.1", "::1"];
/** Bodies are small: conf is the largest part, and is copied into the run's row and history. */
const BODY_LIMIT = 256 * 1024;

/**
 * The address of a wait is all that counts there: whoever has it may post to it, from a service or a page of any origin,
 * and in whatever type their tool sends JSON.
 */
export const WAIT_ADDRESSES = "/api/v1/waits/:token";
const isWaitAddress = (path: string): boolean => /^\/api\/v1\/waits\/[^/]+$/.test(path);

export const changesState = (method: string): boolean => !["GET", "HEAD", "OPTIONS"].includes(method);

/** `example.com:8080` → `example.com`, `[::1]:8080` → `::1`; null when it is no host. */
export function hostName(host: string): string | null {
  const url = parse(`http://${host}/`);
  if (url === null || url.username !== "" || url.pathname !== "/" || url.search !== "" || url.hash !== "")
    return null;
  return url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}

/**
 * Only known host names are answered, so that a foreign page whose name was rebound to this address gets nothing;
 * and only pages of this origin may change anything (a browser says where a request comes from).
 */
export function checkOrigin(allowedHosts: readonly string[]) {
  const own = new Set([...OWN_HOSTS, ...allowedHosts.map((host) => hostName(host) ?? host)]);
  return createMiddleware(async (c, next) => {
    const host = c.req.header("host") ?? new URL(c.req.url).host;
    const name = hostName(host);
    if (name === null || !own.has(name)) {
      const detail = `host ${JSON.stringify(host)} is not one of this server's names: add it to the allowed hosts`;
      return problem(c, 403, "foreign_host", detail);
    }
    if (changesState(c.req.method) && !isWaitAddress(c.req.path)) {
      const origin = c.req.header("origin");
      const from = origin === undefined ? name : originHost(origin);
      const site = c.req.header("sec-fetch-site") ?? "same-origin";
      if (from === null || !own.has(from) || !["same-origin", "none"].includes(site)) {
        const detail = `a page of ${JSON.stringify(origin ?? site)} may not change anything here`;
        return problem(c, 403, "foreign_origin", detail);
      }
    }
    return next();
  });
}

const parse = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);

function originHost(origin: string): string | null {
  const url = parse(origin);
  return url !== null && /^https?:$/.test(url.protocol) ? hostName(url.host) : null;
}

/** A body must say that it is JSON: a foreign form cannot, without asking first. */
export const requireJson = () =>
  createMiddleware(async (c, next) => {
    if (isWaitAddress(c.req.path)) return next();
    const type = c.req.header("content-type") ?? "";
    const isJson = /^application\/json(?:\s*;|$)/i.test(type);
    // A server gives every POST a body, if only an empty one.
    if (changesState(c.req.method) && !isJson && (type !== "" || (await c.req.text()) !== "")) {
      const detail = `content type ${JSON.stringify(type)} is not taken: send application/json`;
      return problem(c, 415, "not_json", detail);
    }
    return next();
  });

export const limitBody = () => {
  const unmeasured = bodyLimit({ maxSize: BODY_LIMIT, onError: tooLarge });
  return createMiddleware(async (c, next) => {
    // The server holds a body to the length it announces, so that one need not be read to be measured.
    const length = Number(c.req.header("content-length") ?? Number.NaN);
    if (Number.isNaN(length) || c.req.header("transfer-encoding") !== undefined) return unmeasured(c, next);
    return length > BODY_LIMIT ? tooLarge(c) : next();
  });
};

const tooLarge = (c: Context): Response =>
  problem(c, 413, "body_too_large", `the body is larger than ${BODY_LIMIT} bytes`);

/** HEAD is answered as GET is, without the body: what would have been sent is let go, be it a file or a stream. */
export const endUnsent = () =>
  createMiddleware(async (c, next) => {
    await next();
    if (c.req.method === "HEAD") await c.res.body?.cancel();
  });

/** For answers that no browser shows: set before the answer is made, which spares a copy of it. */
export const bareHeaders = () =>
  createMiddleware(async (c, next) => {
    c.header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    c.header("X-Content-Type-Options", "nosniff");
    c.header("X-Frame-Options", "DENY");
    c.header("Referrer-Policy", "same-origin");
    c.header("Cross-Origin-Resource-Policy", "same-origin");
    c.header("Cache-Control", "no-store");
    return next();
  });
