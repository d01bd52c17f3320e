import pg from "pg";
import postgres from "postgres";
import type { Cluster } from "#src/cluster/cluster.js";
import { type PostgresClusterOptions, postgresCluster } from "#src/postgres/cluster.js";
import type { PostgresClient } from "#src/postgres/connection.js";
import { NotSent } from "#src/postgres/failure.js";
import { fromPg } from "#src/postgres/pg.js";
import { fromPostgresJs } from "#src/postgres/postgres-js.js";
import type { Scope } from "#src/testing/contract/world.js";

/** Client of a library with the function that ends its connections. */
export interface OpenClient {
  readonly client: PostgresClient;
  end(): Promise<void>;
}

/** Client libraries, by name. */
export const libraries: Readonly<Record<"pg" | "postgres", (url: string) => OpenClient>> = {
  pg(url) {
    const pool = new pg.Pool({ connectionString: url, max: 4 });
    pool.on("error", () => {});
    return { client: fromPg(pool), end: () => pool.end() };
  },
  postgres(url) {
    const sql = postgres(url, { max: 4, backoff: () => 0.1, onnotice: () => {} });
    return { client: fromPostgresJs(sql), end: () => sql.end({ timeout: 1 }) };
  },
};

/** A client that can be cut off: from then on it sends nothing and hears nothing. */
export function cuttable(client: PostgresClient): {
  readonly client: PostgresClient;
  cut(): void;
  loseTake(): void;
} {
  let isCut = false;
  let losesTake = false;
  const lost = () => new NotSent(new Error("the connection is cut"));
  return {
    client: {
      async query(text, values, signal) {
        if (isCut) throw lost();
        const rows = await client.query(text, values, signal);
        if (!losesTake || !text.includes("take_2")) return rows;
        losesTake = false;
        throw new Error("the reply was lost");
      },
      listen(channel, heard, onLost) {
        const wrapped = (payload: string) => {
          if (!isCut) heard(payload);
        };
        return isCut ? Promise.reject(lost()) : client.listen(channel, wrapped, onLost);
      },
      onIdleError: (listener) => client.onIdleError(listener),
    },
    cut() {
      isCut = true;
    },
    loseTake() {
      losesTake = true;
    },
  };
}

/** Creates a cluster and waits for its start. Closes it if the start fails. */
export async function openCluster(options: PostgresClusterOptions): Promise<Cluster> {
  const cluster = postgresCluster(options);
  try {
    await cluster.ready;
  } catch (error) {
    await cluster.close();
    throw error;
  }
  return cluster;
}

let worlds = 0;

/** State of one test in a schema of its own. */
export class PostgresWorld {
  readonly #url: string;
  readonly #library: keyof typeof libraries;
  readonly schema = `world_${process.pid}_${++worlds}`;
  readonly #nodes = new Map<Cluster, { end(): Promise<void>; cut(): void; loseTake(): void }>();
  readonly #options: Partial<PostgresClusterOptions>;

  constructor(t: Scope, url: string, library: keyof typeof libraries, options: Partial<PostgresClusterOptions> = {}) {
    t.after(() => this.#drop());
    this.#url = url;
    this.#library = library;
    this.#options = options;
  }

  /** Returns a new node. `change` gives its client other properties. */
  async node(change = (client: PostgresClient) => client): Promise<Cluster> {
    const { client, end } = libraries[this.#library](this.#url);
    const { client: wrapped, ...faults } = cuttable(change(client));
    try {
      const cluster = await openCluster({
        client: wrapped,
        schema: this.schema,
        timeoutMs: 2500,
        heartbeatMs: 500,
        ...this.#options,
      });
      this.#nodes.set(cluster, { end, ...faults });
      return cluster;
    } catch (error) {
      await end();
      throw error;
    }
  }

  crash(node: Cluster): void {
    this.#nodes.get(node)?.cut();
  }

  loseTake(node: Cluster): void {
    this.#nodes.get(node)?.loseTake();
  }

  /** Deletes the schema, unless the server is away. */
  async #drop(): Promise<void> {
    const client = new pg.Client(this.#url);
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query(`set client_min_messages = error; drop schema if exists ${this.schema} cascade`);
    } catch {
      // The test killed the server.
    }
    await client.end().catch(() => {});
  }

  async close(node: Cluster): Promise<void> {
    await node.close();
    await this.#nodes.get(node)?.end();
  }
}
