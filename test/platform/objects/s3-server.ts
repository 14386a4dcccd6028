import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
// @ts-expect-error the package brings no types
import S3rver from "s3rver";

interface Server {
  run(): Promise<{ port: number }>;
  close(): Promise<void>;
}

export interface S3Server {
  /** For the settings of a process: the store, and AWS's own variables. */
  readonly env: Record<string, string>;
  stop(): Promise<void>;
  /** Nothing listens until `resume`; what it holds is kept. */
  pause(): Promise<void>;
  resume(): Promise<void>;
}

/** A small S3 on this machine with one bucket, "bucket". */
export async function startS3(): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), "s3-"));
  const make = (port: number): Server =>
    new (S3rver as new (options: object) => Server)({
      port,
      address: "127.0.0.1",
      silent: true,
      directory,
      configureBuckets: [{ name: "bucket" }],
    });
  let server: Server | null = make(0);
  const { port } = await server.run();
  const close = async (): Promise<void> => {
    await server?.close();
    server = null;
  };
  return {
    env: {
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: "S3RVER",
      AWS_SECRET_ACCESS_KEY: "S3RVER",
    },
    stop: async () => {
      await close();
      rmSync(directory, { recursive: true, force: true });
    },
    pause: close,
    resume: async () => {
      server = make(port);
      await server.run();
    },
  };
}
