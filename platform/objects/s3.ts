import { createReadStream } from "node:fs";
import { rm, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { checkKey, objectMissing, storeAway, type ObjectStore } from "./store.ts";

export interface S3Options {
  readonly bucket: string;
  /** Without slashes around it; empty: none. */
  readonly prefix: string;
  /** Of AWS's own variables those that an S3 of another maker needs; the rest the SDK finds by itself. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What goes wrong is told by what is thrown. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** No answer at all for so long, and the call is made again. */
const CONNECT_MS = 5_000;
const SILENT_MS = 30_000;

/** A bucket of S3, or of what speaks its language. */
export function createS3Objects({ bucket, prefix, env }: S3Options): ObjectStore {
  const client = new S3Client(settingsFrom(env));
  const address = `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}`;
  const at = (key: string) => ({
    Bucket: bucket,
    Key: prefix === "" ? checkKey(key) : `${prefix}/${checkKey(key)}`,
  });
  return {
    address,
    pathOf: null,
    async take(key, file) {
      const place = at(key);
      const body = createReadStream(file);
      try {
        const { size } = await stat(file);
        await client.send(
          new PutObjectCommand({
            ...place,
            Body: body,
            ContentLength: size,
            ContentType: "application/json",
          }),
        );
      } catch (error) {
        throw storeAway(address, error);
      } finally {
        body.destroy();
      }
      await rm(file, { force: true });
    },
    async open(key) {
      const place = at(key);
      try {
        const { Body, ContentLength } = await client.send(new GetObjectCommand(place));
        return { bytes: ContentLength!, stream: Body as Readable };
      } catch (error) {
        throw error instanceof NoSuchKey ? objectMissing(key, address) : storeAway(address, error);
      }
    },
  };
}

function settingsFrom(env: S3Options["env"]) {
  const endpoint = env["AWS_ENDPOINT_URL_S3"] ?? env["AWS_ENDPOINT_URL"];
  const region = env["AWS_REGION"] ?? env["AWS_DEFAULT_REGION"];
  const [id, secret, token] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"].map(
    (name) => env[name],
  );
  return {
    logger: SILENT,
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: SILENT_MS, throwOnRequestTimeout: true },
    ...(id === undefined || secret === undefined
      ? {}
      : {
          credentials: {
            accessKeyId: id,
            secretAccessKey: secret,
            ...(token === undefined ? {} : { sessionToken: token }),
          },
        }),
    ...(region === undefined ? {} : { region }),
    // Other makers' servers take no checksum behind a streamed body, and have no host for each bucket.
    ...(endpoint === undefined
      ? {}
      : {
          endpoint,
          region: region ?? "us-east-1",
          forcePathStyle: true,
          requestChecksumCalculation: "WHEN_REQUIRED" as const,
          responseChecksumValidation: "WHEN_REQUIRED" as const,
        }),
  };
}
