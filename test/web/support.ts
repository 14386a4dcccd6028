/** What every browser test needs: the built page, a made-up installation behind it, a browser, and no silent errors. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { buildIfStale } from "../../web/build-if-stale.ts";
import { openBrowser } from "./browser.ts";
import { makeInstallation } from "./fixtures/installation.ts";
import { serveFixtures, type FixtureServer } from "./fixtures/server.ts";
import type { World } from "./fixtures/world.ts";

export interface Desk {
  readonly page: Page;
  readonly world: World;
  readonly url: string;
  open(path: string): Promise<void>;
  /** Path and query by now. The page may write them after what one sees of a change, so they are waited for. */
  readonly address: () => string;
  /** Waits until the address has these values. */
  expectQuery(values: Query): Promise<void>;
  /** Errors the page is meant to log in this test (Chromium logs every failed request). */
  expectErrors(pattern: RegExp): void;
}

/** What stands in an address under a name: a value, several, or null. */
type Query = Readonly<Record<string, string | readonly string[] | null>>;

/** A change of the installation must be on the page within this. */
export const LIVE_MS = 2000;

/** Sets up a page per test; call inside `describe`. */
export function useDesk(options: BrowserContextOptions = {}): Desk {
  let browser: Browser;
  let server: FixtureServer;
  let page: Page;
  let errors: string[] = [];
  let allowed: RegExp[] = [];

  beforeAll(async () => {
    await buildIfStale();
    browser = await openBrowser();
  }, 120_000);
  afterAll(async () => {
    await browser.close();
  });
  beforeEach(async () => {
    errors = [];
    allowed = [];
    server = await serveFixtures(makeInstallation());
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    page = await context.newPage();
    page.setDefaultTimeout(10_000);
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    page.on("pageerror", (error) => errors.push(error.message));
  }, 30_000);
  afterEach(async () => {
    await page.context().close();
    await server.close();
    expect(errors.filter((text) => !allowed.some((pattern) => pattern.test(text)))).toEqual([]);
  });

  return {
    get page() {
      return page;
    },
    get world() {
      return server.world;
    },
    get url() {
      return server.url;
    },
    open: async (path) => {
      await page.goto(server.url + path);
    },
    address: () => {
      const { pathname, search } = new URL(page.url());
      return pathname + search;
    },
    expectQuery: async (values) => {
      const read = (): Query => {
        const { searchParams } = new URL(page.url());
        const valueOf = ([name, value]: [string, Query[string]]): [string, Query[string]] => [
          name,
          Array.isArray(value) ? searchParams.getAll(name) : searchParams.get(name),
        ];
        return Object.fromEntries(Object.entries(values).map(valueOf));
      };
      await expect.poll(read).toEqual(values);
    },
    expectErrors: (pattern) => {
      allowed.push(pattern);
    },
  };
}
