import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { collect } from "../../authoring/collect.ts";
import type { Dag } from "../../authoring/collect.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const cache = `${root}node_modules/.cache/meridian-test`;

/**
 * The DAGs of a file in `dags/`, bundled and executed from another folder, as the product does. The bundle has a copy
 * of the library inside.
 */
export async function bundledDags(file: string): Promise<readonly Dag[]> {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(`${cache}/dags-`);
  const outfile = `${folder}/bundle.mjs`;
  await build({
    entryPoints: [`${root}dags/${file}`],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    alias: { meridian: `${root}authoring/index.ts` },
    external: ["pg", "zod"],
    loader: { ".csv": "text" },
    logLevel: "silent",
  });
  try {
    return await collect(() => import(/* @vite-ignore */ pathToFileURL(outfile).href));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export async function bundledDag(file: string): Promise<Dag> {
  const [dag, ...more] = await bundledDags(file);
  if (dag === undefined || more.length > 0) throw new Error(`dags/${file} has ${more.length + 1} DAGs`);
  return dag;
}
