import { createRoute } from "@hono/zod-openapi";
import { NotFound } from "../core/errors.ts";
import { diffGraphs } from "../core/version-diff.ts";
import {
  readVersionPage,
  readVersionSources,
  type VersionRow,
  type VersionSourceRow,
} from "../db/read/versions.ts";
import { VersionDetail, VersionDiff, VersionList, type DagVersion } from "./contracts.ts";
import { shapeGraph } from "./dags.ts";
import type { AppDeps } from "./deps.ts";
import { noSuchDag } from "./grid.ts";
import { DiffPath, newRoutes, DagPath, VersionPath, VersionsQuery } from "./requests.ts";
import { cutPage, iso, json } from "./shape.ts";
import { diffSources, sourcesOf } from "./source-diff.ts";

const listVersions = createRoute({
  method: "get",
  path: "/dags/{dagId}/versions",
  summary: "Versions of a DAG, newest first",
  request: { params: DagPath, query: VersionsQuery },
  responses: { 200: json(VersionList, "A page of versions") },
});
const getVersion = createRoute({
  method: "get",
  path: "/dags/{dagId}/versions/{number}",
  summary: "A version with its graph and TypeScript sources",
  request: { params: VersionPath },
  responses: { 200: json(VersionDetail, "The version") },
});
const diffVersions = createRoute({
  method: "get",
  path: "/dags/{dagId}/versions/{from}/diff/{to}",
  summary: "What changed from one version to another: options, tasks, edges, sources",
  request: { params: DiffPath },
  responses: { 200: json(VersionDiff, "The changes") },
});

export const versionRoutes = (deps: AppDeps) => {
  const db = deps.reader ?? deps.db;

  async function readVersions(dagId: string, ...numbers: number[]): Promise<VersionSourceRow[]> {
    const rows = await readVersionSources(db, dagId, numbers);
    const found: VersionSourceRow[] = [];
    for (const number of numbers) {
      const row = rows.find((one) => one.number === number);
      if (row === undefined) throw await noSuchVersion(dagId, number);
      found.push(row);
    }
    return found;
  }

  async function noSuchVersion(dagId: string, number: number): Promise<NotFound> {
    const newest = await readVersionPage(db, dagId, { before: null, limit: 1 });
    if (newest === null) return noSuchDag(dagId);
    return new NotFound(
      "no_version",
      `dag "${dagId}" has no version ${number}; the newest is ${newest[0]?.number ?? "still to come"}`,
    );
  }

  return newRoutes()
    .openapi(listVersions, async (c) => {
      const { dagId } = c.req.valid("param");
      const { before, limit } = c.req.valid("query");
      const rows = await readVersionPage(db, dagId, { before: before ?? null, limit: limit + 1 });
      if (rows === null) throw noSuchDag(dagId);
      const [page, next] = cutPage(rows, limit, (row) => String(row.number));
      return c.json({ versions: page.map(shapeVersion), before: next === null ? null : Number(next) }, 200);
    })
    .openapi(getVersion, async (c) => {
      const { dagId, number } = c.req.valid("param");
      const [row] = await readVersions(dagId, number);
      const { graph, file, source_map } = row!;
      return c.json(
        { ...shapeSourced(row!), graph: shapeGraph(graph), sources: sourcesOf(source_map, file) },
        200,
      );
    })
    .openapi(diffVersions, async (c) => {
      const { dagId, from, to } = c.req.valid("param");
      const [before, after] = (await readVersions(dagId, from, to)) as [VersionSourceRow, VersionSourceRow];
      const { dag, groups, tasks, edges } = diffGraphs(before.graph, after.graph);
      // Of one bundle there is one set of sources.
      const sources =
        before.bundle_hash === after.bundle_hash
          ? []
          : diffSources(sourcesOf(before.source_map, before.file), sourcesOf(after.source_map, after.file));
      const body = {
        from: shapeSourced(before),
        to: shapeSourced(after),
        dag,
        groups,
        tasks,
        edges,
        sources,
      };
      return c.json(body as VersionDiff, 200);
    });
};

const shapeVersion = ({ number, hash, file, created_at, current }: VersionRow): DagVersion => ({
  number,
  hash,
  file,
  createdAt: iso(created_at),
  current,
});

const shapeSourced = (row: VersionSourceRow) => ({ ...shapeVersion(row), sourcesAt: iso(row.sources_at) });
