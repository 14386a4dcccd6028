import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../../platform/config.ts";
import { openObjects } from "../../../platform/objects/open.ts";
import type { ObjectStore } from "../../../platform/objects/store.ts";
import { startS3, type S3Server } from "./s3-server.ts";

let folder: string;
let s3: S3Server;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "objects-"));
  s3 = await startS3();
});
afterAll(async () => {
  await s3.stop();
  rmSync(folder, { recursive: true, force: true });
});

let files = 0;
function fileWith(content: string): string {
  const path = join(folder, `file-${(files += 1)}`);
  writeFileSync(path, content);
  return path;
}

const open = async (env: Record<string, string>): Promise<ObjectStore> =>
  await openObjects(readConfig({ MERIDIAN_HOME: folder, ...env }));

interface Driver {
  readonly make: () => Promise<ObjectStore>;
  /** One that does not answer. */
  readonly away: () => Promise<ObjectStore>;
}

const DRIVERS: Record<string, Driver> = {
  "a folder": {
    make: async () => await open({ MERIDIAN_OBJECTS: `file:${folder}/store` }),
    away: async () => {
      const store = await open({ MERIDIAN_OBJECTS: `file:${folder}/unmounted` });
      rmSync(join(folder, "unmounted"), { recursive: true });
      return store;
    },
  },
  S3: {
    make: async () => await open({ MERIDIAN_OBJECTS: "s3://bucket/some/prefix", ...s3.env }),
    away: async () =>
      await open({ MERIDIAN_OBJECTS: "s3://bucket", ...s3.env, AWS_ENDPOINT_URL_S3: "http://127.0.0.1:9" }),
  },
};

describe.each(Object.entries(DRIVERS))("A12: the object store is %s", (_name, { make, away }) => {
  it("keeps what it takes, to the byte", async () => {
    const store = await make();
    const content = JSON.stringify({ word: "grüße \u{1F600}", rows: "x".repeat(5_000_000) });
    const file = fileWith(content);
    await store.take("outputs/dag/run/task.1.json", file);
    expect(existsSync(file)).toBe(false);
    const { bytes, stream } = await store.open("outputs/dag/run/task.1.json");
    expect(bytes).toBe(Buffer.byteLength(content));
    expect((await text(stream)) === content).toBe(true);
    // Another process of the same product.
    expect(await text((await (await make()).open("outputs/dag/run/task.1.json")).stream)).toBe(content);
  });

  it("taking twice is harmless", async () => {
    const store = await make();
    for (let i = 0; i < 2; i++) await store.take("twice/1.json", fileWith("[1,2]"));
    expect(await text((await store.open("twice/1.json")).stream)).toBe("[1,2]");
  });

  it("says what is missing, and where", async () => {
    const store = await make();
    await store.take("there/1.json", fileWith("1"));
    for (const key of ["nowhere/1.json", "there/2.json"]) {
      await expect(store.open(key)).rejects.toMatchObject({
        code: "object_missing",
        message: expect.stringContaining(`${store.address} has nothing under ${key}`),
      });
    }
  });

  it("away: retryable, and the file is kept for the next attempt", { timeout: 30_000 }, async () => {
    const store = await away();
    const file = fileWith("[1]");
    const answer = { kind: "retryable", code: "object_store_away" };
    await expect(store.take("a/1.json", file)).rejects.toMatchObject(answer);
    expect(readFileSync(file, "utf8")).toBe("[1]");
    await expect(store.open("a/1.json")).rejects.toMatchObject(answer);
  });

  it("K69: no key leads out of it", async () => {
    const store = await make();
    for (const key of [
      "../x",
      "a/../../x",
      "/etc/passwd",
      "a//b",
      "a/./b",
      "",
      "a\\b",
      "ä",
      "x".repeat(1000),
    ]) {
      const answer = { code: "bad_object_key" };
      await expect(store.open(key), key).rejects.toMatchObject(answer);
      await expect(store.take(key, fileWith("1")), key).rejects.toMatchObject(answer);
    }
  });
});

describe("A12: MERIDIAN_OBJECTS", () => {
  it("is a folder of the data folder unless it says otherwise; only S3 is no file of this machine", async () => {
    expect((await open({})).address).toBe(`file:${folder}/objects`);
    expect((await open({ MERIDIAN_OBJECTS: `file://${folder}/x` })).address).toBe(`file:${folder}/x`);
    expect((await open({ MERIDIAN_OBJECTS: "file:/" })).pathOf?.("a/b")).toBe("/a/b");
    const store = await open({ MERIDIAN_OBJECTS: "s3://my.bucket-1/a/b/", AWS_REGION: "eu-central-1" });
    expect(store).toMatchObject({ address: "s3://my.bucket-1/a/b", pathOf: null });
  });

  it("refuses what it does not know", async () => {
    for (const value of ["s3:/bucket", "s3://B", "gs://bucket", "/tmp/x", "s3://bucket/a b"]) {
      expect(() => readConfig({ MERIDIAN_OBJECTS: value }), value).toThrow(
        /MERIDIAN_OBJECTS=.*expected file:FOLDER or s3:\/\/BUCKET\/PREFIX/,
      );
    }
  });

  it("a bucket that is not there is the store's trouble, not the output's", async () => {
    const store = await open({ MERIDIAN_OBJECTS: "s3://other-bucket", ...s3.env });
    await expect(store.open("a/1.json")).rejects.toMatchObject({
      code: "object_store_away",
      message: expect.stringContaining("NoSuchBucket"),
    });
  });
});
