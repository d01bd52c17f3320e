export type { Clock } from "../call/clock.js";
export type { Cluster } from "../cluster/cluster.js";
export { type PostgresCluster, type PostgresClusterOptions, postgresCluster } from "../postgres/cluster.js";
export type { Listening, PostgresClient, Row, Value } from "../postgres/connection.js";
export { fromPg, type PgPool, type PgPoolClient } from "../postgres/pg.js";
export { fromPostgresJs, type PostgresJsQuery, type PostgresJsSql } from "../postgres/postgres-js.js";
