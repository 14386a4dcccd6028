import type {} from "vitest";
import type { TestProject } from "vitest/node";
import { startTestServers } from "./servers.ts";

declare module "vitest" {
  export interface ProvidedContext {
    databaseUrl: string;
    temporalAddress: string;
  }
}

/** Both servers for the whole test run; a test asks with `inject("databaseUrl")`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const servers = await startTestServers();
  project.provide("databaseUrl", servers.databaseUrl);
  project.provide("temporalAddress", servers.temporalAddress);
  return () => servers.stop();
}
