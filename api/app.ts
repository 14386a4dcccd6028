import { cors } from "hono/cors";
import { secureHeaders } from "hono/secure-headers";
import { commandRoutes } from "./commands.ts";
import { dagRoutes } from "./dags.ts";
import type { AppDeps } from "./deps.ts";
import { onError, problem } from "./errors.ts";
import { eventRoutes } from "./events.ts";
import { gridRoutes } from "./grid.ts";
import { bareHeaders, checkOrigin, endUnsent, limitBody, requireJson, WAIT_ADDRESSES } from "./guard.ts";
import { healthRoutes } from "./health.ts";
import { answerOnce, KEY_HEADER } from "./idempotency.ts";
import { fileRoutes } from "./files.ts";
import { importRoutes } from "./imports.ts";
import { limitsRoutes } from "./limits.ts";
import { logStreamRoutes } from "./log-stream.ts";
import { dialRoutes } from "./dial.ts";
import { describeApi, methodsOf } from "./openapi.ts";
import { pageRoutes } from "./page.ts";
import { poolWorkRoutes } from "./pool-work.ts";
import { poolRoutes } from "./pools.ts";
import { newRoutes } from "./requests.ts";
import { runPriorityRoutes } from "./run-priority.ts";
import { runRoutes } from "./runs.ts";
import { tenantRoutes } from "./tenants.ts";
import { tryRoutes } from "./tries.ts";
import { versionRoutes } from "./versions.ts";
import { waitRoutes } from "./waits.ts";
import { whoAsks } from "./who.ts";

export type { AppDeps } from "./deps.ts";

/** All routes under `/api/v1`. */
const apiRoutes = (deps: AppDeps) =>
  newRoutes()
    .route("/api/v1", healthRoutes(deps))
    .route("/api/v1", dagRoutes(deps))
    .route("/api/v1", gridRoutes(deps))
    .route("/api/v1", runRoutes(deps))
    .route("/api/v1", commandRoutes(deps))
    .route("/api/v1", runPriorityRoutes(deps))
    .route("/api/v1", waitRoutes(deps))
    .route("/api/v1", tryRoutes(deps))
    .route("/api/v1", logStreamRoutes(deps))
    .route("/api/v1", eventRoutes(deps))
    .route("/api/v1", poolRoutes(deps))
    .route("/api/v1", poolWorkRoutes(deps))
    .route("/api/v1", limitsRoutes(deps))
    .route("/api/v1", tenantRoutes(deps))
    .route("/api/v1", dialRoutes(deps))
    .route("/api/v1", importRoutes(deps))
    .route("/api/v1", fileRoutes(deps))
    .route("/api/v1", versionRoutes(deps));

/** The whole HTTP face as a value; `app.fetch` is what a server listens with. */
export function createApp(deps: AppDeps) {
  const app = newRoutes();
  const log = deps.log ?? ((fields, message) => console.error(message, fields));
  app.onError(onError(log));
  const pageHeaders = secureHeaders(HEADERS);
  app.use(async (c, next) => (c.req.path.startsWith("/api/") ? next() : pageHeaders(c, next)));
  app.use("/api/*", endUnsent(), bareHeaders());
  app.use(checkOrigin(deps.allowedHosts));
  app.use(WAIT_ADDRESSES, cors({ origin: "*", allowMethods: ["POST"], allowHeaders: FROM_PAGES }));
  app.use("/api/*", limitBody(), requireJson(), whoAsks(), answerOnce(deps.db));
  const routes = apiRoutes(deps);
  app.route("/", routes);
  let made: ReturnType<typeof describeApi> | undefined;
  const document = () => (made ??= describeApi(routes, deps.version));
  app.get("/api/openapi.json", (c) => c.json(document()));
  app.all("/api/*", (c) => {
    const { method, path } = c.req;
    const allowed = methodsOf(document(), path);
    if (allowed.length === 0) return problem(c, 404, "no_route", `there is no ${method} ${path}`);
    c.header("Allow", allowed.join(", "));
    return problem(c, 405, "not_allowed", `${method} ${path} is not taken: expected ${allowed.join(" or ")}`);
  });
  app.route("/", pageRoutes(deps.webFolder));
  return app;
}

/** What a page of another origin may send to the address of a wait. */
const FROM_PAGES = ["Content-Type", KEY_HEADER];

/** Only our own scripts, styles and connections; nobody may frame the page. */
const HEADERS: Parameters<typeof secureHeaders>[0] = {
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'", "data:"],
    fontSrc: ["'self'"],
    connectSrc: ["'self'"],
    manifestSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
  xFrameOptions: "DENY",
  // TLS ends in front of this server, which must not decide it for a whole domain.
  strictTransportSecurity: false,
  referrerPolicy: "same-origin",
};
