/** Ports of one server process that runs all four services. */
export interface ServicePorts {
  readonly grpc: number;
  readonly membership: number;
}

export const SERVICES = ["frontend", "history", "matching", "worker"] as const;
export type Service = (typeof SERVICES)[number];

export interface ServerConfig {
  readonly ports: Readonly<Record<Service, ServicePorts>>;
  readonly postgres: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
  };
  readonly dynamicConfigFile: string;
}

/** Shards cannot be changed later; 4 is what Temporal's own one-machine configurations take. */
const SHARDS = 4;
/** Each of the four services keeps its own connections: together at most 4 x (20 + 5). */
const CONNECTIONS = { default: 20, visibility: 5 };

/** The server's configuration for one machine. JSON, which YAML readers take. */
export function serverConfig({ ports, postgres, dynamicConfigFile }: ServerConfig): string {
  const store = (databaseName: string, connections: number) => ({
    sql: {
      pluginName: "postgres12",
      databaseName,
      connectAddr: `${postgres.host}:${postgres.port}`,
      connectProtocol: "tcp",
      user: postgres.user,
      password: postgres.password,
      maxConns: connections,
      maxIdleConns: connections,
      maxConnLifetime: "1h",
    },
  });
  const rpc = ({ grpc, membership }: ServicePorts) => ({
    rpc: { grpcPort: grpc, membershipPort: membership, bindOnLocalHost: true },
  });
  return JSON.stringify(
    {
      log: { stdout: true, level: "warn" },
      persistence: {
        defaultStore: "default",
        visibilityStore: "visibility",
        numHistoryShards: SHARDS,
        datastores: {
          default: store("temporal", CONNECTIONS.default),
          visibility: store("temporal_visibility", CONNECTIONS.visibility),
        },
      },
      global: { membership: { maxJoinDuration: "30s", broadcastAddress: "127.0.0.1" } },
      services: Object.fromEntries(SERVICES.map((service) => [service, rpc(ports[service])])),
      clusterMetadata: {
        enableGlobalNamespace: false,
        failoverVersionIncrement: 10,
        masterClusterName: "active",
        currentClusterName: "active",
        clusterInformation: {
          active: {
            enabled: true,
            initialFailoverVersion: 1,
            rpcName: "frontend",
            rpcAddress: `127.0.0.1:${ports.frontend.grpc}`,
          },
        },
      },
      dcRedirectionPolicy: { policy: "noop" },
      dynamicConfigClient: { filepath: dynamicConfigFile, pollInterval: "60s" },
    },
    null,
    2,
  );
}

/** Limits that would throttle a burst on one machine, lifted, and one partition; all else as the server ships. */
const RAISED: Readonly<Record<string, number | boolean>> = {
  "frontend.rps": 100_000,
  "frontend.namespaceRPS": 100_000,
  "frontend.namespaceCount": 10_000,
  "frontend.namespaceRPS.visibility": 10_000,
  "frontend.persistenceMaxQPS": 100_000,
  "history.rps": 100_000,
  "history.maximumBufferedEventsBatch": 10_000,
  "history.persistenceMaxQPS": 100_000,
  "matching.rps": 100_000,
  "matching.persistenceMaxQPS": 100_000,
  "matching.numTaskqueueReadPartitions": 1,
  "matching.numTaskqueueWritePartitions": 1,
  "worker.schedulerNamespaceStartWorkflowRPS": 10_000,
  "system.enableEagerWorkflowStart": true,
  "system.enableActivityEagerExecution": true,
};

/** The server's dynamic configuration file, as JSON. */
export function dynamicConfig(): string {
  return JSON.stringify(
    Object.fromEntries(Object.entries(RAISED).map(([key, value]) => [key, [{ value }]])),
    null,
    2,
  );
}
