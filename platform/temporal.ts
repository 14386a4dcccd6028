import { readFileSync } from "node:fs";
import { Client, Connection } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker";
import { Refused } from "../core/errors.ts";
import type { Config } from "./config.ts";

type TemporalConfig = Pick<
  Config,
  | "temporalNamespace"
  | "temporalApiKey"
  | "temporalTls"
  | "temporalTlsCert"
  | "temporalTlsKey"
  | "temporalTlsCa"
>;

function options(config: TemporalConfig, address: string) {
  const { temporalApiKey: apiKey, temporalTlsCert: cert, temporalTlsKey: key, temporalTlsCa: ca } = config;
  const tls = config.temporalTls || apiKey !== undefined || cert !== undefined;
  return {
    address,
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(tls
      ? {
          tls: {
            ...(ca === undefined ? {} : { serverRootCACertificate: readFileSync(ca) }),
            ...(cert === undefined || key === undefined
              ? {}
              : { clientCertPair: { crt: readFileSync(cert), key: readFileSync(key) } }),
          },
        }
      : {}),
  };
}

/** A worker's connection; a client made over it may start workflows eagerly. */
export async function connectNative(config: TemporalConfig, address: string): Promise<NativeConnection> {
  return await orRefused(address, async () => await NativeConnection.connect(options(config, address)));
}

/** A client's own connection, for processes without a worker. */
export async function connectClient(config: TemporalConfig, address: string): Promise<Client> {
  const connection = await orRefused(address, async () => await Connection.connect(options(config, address)));
  return new Client({ connection, namespace: config.temporalNamespace });
}

async function orRefused<T>(address: string, connect: () => Promise<T>): Promise<T> {
  try {
    return await connect();
  } catch (cause) {
    throw new Refused(
      "no_temporal",
      `cannot reach Temporal at ${address}: ${(cause as Error).message}; check TEMPORAL_ADDRESS, TLS and API key, and that the server runs`,
      { cause },
    );
  }
}
