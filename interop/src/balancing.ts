import { findNginx } from "./nginx.js";

/** Engines of two nodes behind nginx. */
export type EngineName = "redis" | "postgres";

interface Started {
  readonly url: string;
  end(): Promise<void>;
}

interface Balancer {
  readonly ports: readonly number[];
  end(): Promise<void>;
}

const ENGINES: Readonly<Record<EngineName, { readonly variable: string; start(): Promise<Started> }>> = {
  redis: {
    variable: "REDIS_URL",
    async start() {
      const { anyRedis } = (await support("engines/redis.js")) as { anyRedis(): Promise<Started> };
      return anyRedis();
    },
  },
  postgres: {
    variable: "DATABASE_URL",
    async start() {
      const { findOrStartPostgres } = (await support("engines/postgres.js")) as {
        findOrStartPostgres(): Promise<{ url: string; close(): Promise<void> }>;
      };
      const { url, close } = await findOrStartPostgres();
      return { url, end: close };
    },
  },
};

const started = new Map<EngineName, Promise<Started>>();

/** Starts an engine and finds nginx, once for all lines; rejects with the reason. Programs get its address. */
export async function prepareBalancing(engine: EngineName): Promise<void> {
  await findNginx();
  const known = started.get(engine) ?? ENGINES[engine].start();
  started.set(engine, known);
  const { url } = await known.catch((error: Error) => {
    throw new Error(`${engine}: ${error.message}`);
  });
  process.env[ENGINES[engine].variable] = url;
}

/** Ends the engines that were started. */
export async function endEngines(): Promise<void> {
  for (const engine of started.values())
    await engine.then(
      ({ end }) => end(),
      () => {},
    );
}

/** Starts nginx before the nodes at some ports. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const { startBalancer } = (await support("nodes/nginx.js")) as {
    startBalancer(groups: readonly (readonly number[])[]): Promise<Balancer>;
  };
  return startBalancer([ports]);
}

/** Loads a built helper of the tests. */
function support(file: string): Promise<unknown> {
  return import(new URL(`../../../build/test/support/${file}`, import.meta.url).href);
}
