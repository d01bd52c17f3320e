import type { ProtocolVersion } from "bowline/client";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { createHarbour, type Harbour, TIDE } from "./harbour.js";

/** A wire of a runtime: connects a client to the suite's server. */
export type Open = (server: Harbour, options: ClientOptions) => Promise<Opened>;

export interface Opened {
  readonly client: Client;
  close?(): Promise<unknown> | unknown;
}

export interface Outcome {
  /** Wire and era, such as `http modern`. */
  readonly wire: string;
  readonly check: string;
  /** Reason of the failure. Absent if the check passed. */
  readonly problem?: string;
}

export const ERAS = { modern: "2026-07-28", legacy: "2025-11-25" } as const;
const LIMIT_MS = 5000;

/** Wires that every runtime has: a server in this process, and the server's own `fetch`. */
const everywhere: Readonly<Record<string, Open>> = {
  memory: async (server, options) => ({ client: await connect(server, options) }),
  handler: async (server, options) => {
    const fetch: ClientOptions["fetch"] = (url, init) => server.fetch(new Request(url, init));
    return { client: await connect("http://localhost/mcp", { ...options, fetch }) };
  },
};

/**
 * Runs every check over every wire in both eras. Uses only APIs that all web runtimes share. `shared` are the wires of
 * every runtime.
 */
export async function runSuite(
  wires: Readonly<Record<string, Open>>,
  shared: Readonly<Record<string, Open>> = everywhere,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const [name, open] of Object.entries({ ...shared, ...wires })) {
    for (const [era, version] of Object.entries(ERAS))
      outcomes.push(...(await runWire(`${name} ${era}`, open, version)));
  }
  return outcomes;
}

async function runWire(wire: string, open: Open, version: string): Promise<Outcome[]> {
  const server = createHarbour();
  const options: ClientOptions = {
    versions: [version as ProtocolVersion],
    onElicit: () => ({ action: "accept", content: { sure: true } }),
  };
  const outcomes: Outcome[] = [];
  let opened: Opened | undefined;
  const run = async (name: string, work: () => Promise<void>) => void outcomes.push(await check(wire, name, work));
  await run("connect", async () => {
    opened = await open(server, options);
    equal(opened.client.version, version);
  });
  const client = opened?.client;
  if (client !== undefined) {
    for (const [name, work] of Object.entries(checks)) await run(name, () => work(client));
  }
  await run("close", async () => {
    await client?.close();
    await opened?.close?.();
    await server.close();
  });
  return outcomes;
}

/** Runs a check, which must end within a limit. */
export async function check(wire: string, check: string, work: () => Promise<void>): Promise<Outcome> {
  const problem = await within(work()).then(() => undefined, describe);
  return problem === undefined ? { wire, check } : { wire, check, problem };
}

const checks: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  async call(client) {
    equal((await client.callTool("echo", { text: "ahoy \u{1f9f6}" })).text, "ahoy \u{1f9f6}");
  },
  async progress(client) {
    const told: string[] = [];
    const onProgress = ({ progress, message }: { progress: number; message?: string | undefined }) =>
      void told.push(`${progress} ${message}`);
    equal((await client.callTool("count", {}, { onProgress })).text, "counted");
    equal(told.join(), "1 step 1,2 step 2,3 step 3");
  },
  async elicit(client) {
    equal((await client.callTool("ask")).text, "sure: true");
  },
  async cancel(client) {
    const abort = new AbortController();
    const call = client.callTool("wait", {}, { signal: abort.signal }).then(() => "answered", String);
    await untilSeen(client, "started");
    abort.abort("enough");
    equal(await call, "enough");
    equal(client.pending, 0);
  },
  /** More calls than a browser has connections to a server: answers find one while a stream of the server is open. */
  async crowd(client) {
    const watch = await client.watch({ resources: [TIDE] });
    try {
      const answers = await Promise.all(Array.from({ length: 8 }, () => client.callTool("ask")));
      equal(answers.filter(({ text }) => text === "sure: true").length, 8);
    } finally {
      await watch.close();
    }
  },
  async watch(client) {
    const watch = await client.watch({ resources: [TIDE] });
    try {
      const heard = watch[Symbol.asyncIterator]().next();
      equal((await client.callTool("turn")).text, "turned");
      equal(JSON.stringify((await heard).value), JSON.stringify({ kind: "resource", uri: TIDE }));
    } finally {
      await watch.close();
    }
  },
  /** The handler of the cancelled call is told. */
  stop: (client) => untilSeen(client, "stopped"),
};

async function untilSeen(client: Client, what: string): Promise<void> {
  while (!(await client.callTool("seen")).text.includes(what)) await new Promise((resolve) => setTimeout(resolve, 5));
}

export function equal(actual: unknown, wanted: unknown): void {
  if (actual !== wanted) throw new Error(`got ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`);
}

async function within<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing happened for ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
