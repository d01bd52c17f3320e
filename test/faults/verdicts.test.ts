import { deepEqual, equal, ok } from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { type CallOptions, type Client, type ClientOptions, connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer, type ServerOptions } from "bowline/server";
import { createChannelPair, FakeClock, type FaultyChannel, withFaults } from "bowline/testing";
import { createPipePair } from "../support/each-wire.js";
import { type FaultLine, FetchLine, type HttpLine, TcpLine } from "../support/fault-lines.js";
import { aborted, gate } from "../support/gate.js";
import { child, Lines, spawnBare } from "../support/server-child.js";

const me = { name: "verdicts", version: "1.0.0" };
type Era = "modern" | "legacy";
const TRANSPORTS = ["memory", "stdio", "node", "fetch", "sse"] as const;
type Transport = (typeof TRANSPORTS)[number];
type Wire = { readonly era: Era; readonly transport: Transport };

/** What really happened, as the handlers wrote it down: in a file, so that it outlives any process. */
class Journal {
  readonly #folder = mkdtempSync(join(tmpdir(), "verdicts-"));
  readonly file = join(this.#folder, "journal");

  constructor(t: TestContext) {
    appendFileSync(this.file, "");
    t.after(() => rmSync(this.#folder, { recursive: true, force: true }));
  }

  begin(call: string): void {
    appendFileSync(this.file, `begin ${call}\n`);
  }

  count(call: string): number {
    return readFileSync(this.file, "utf8")
      .split("\n")
      .filter((line) => line === `begin ${call}`).length;
  }
}

/** How a call ended for its caller. */
interface Verdict {
  readonly name: string;
  readonly delivery: string | undefined;
  readonly retrySafe: boolean | undefined;
  readonly message: string;
}

async function verdictOf(call: Promise<unknown>): Promise<Verdict> {
  try {
    await call;
    return { name: "answered", delivery: undefined, retrySafe: undefined, message: "" };
  } catch (error) {
    const { name, delivery, retrySafe, message } = error as Verdict;
    return { name, delivery, retrySafe, message };
  }
}

/** One wire with a client and a server, on which one call is made. */
class Place {
  readonly begun = gate();
  readonly release = gate();
  readonly clock = new FakeClock();
  readonly journal: Journal;
  server!: McpServer;
  client!: Client;
  line!: FaultLine;
  #close: () => Promise<void> = async () => {};

  constructor(
    t: TestContext,
    readonly era: Era,
    readonly transport: Transport,
  ) {
    this.journal = new Journal(t);
    t.after(() => this.close());
  }

  async open(clientOptions: ClientOptions = {}, serverOptions: ServerOptions = {}): Promise<void> {
    const { http, ...more } = serverOptions;
    this.server = new McpServer(me, { http: { sse: this.transport === "sse", ...http }, ...more })
      .tool("work", {}, async (_, ctx) => {
        this.journal.begin("it");
        this.begun.open();
        await Promise.race([this.release.opened, aborted(ctx.signal)]);
        return "done";
      })
      .tool("ask", {}, async (_, ctx) => {
        this.journal.begin("it");
        await ctx.elicit("Sure?", { type: "object", properties: {} });
        return "done";
      });
    await this.#connect({ era: this.era, ...clientOptions });
  }

  async #connect(options: ClientOptions): Promise<void> {
    if (this.transport === "memory" || this.transport === "stdio") return this.#connectChannel(options);
    if (this.transport === "fetch") {
      const line = new FetchLine(async (request) => this.server.fetch(request));
      this.line = line;
      this.client = await connect("http://localhost/mcp", { ...options, fetch: line.fetch });
      return;
    }
    const running = await serveHttp(this.server);
    const line = await TcpLine.open(running.port);
    this.line = line;
    this.#close = async () => {
      line.cut();
      await running.close();
    };
    const path = this.transport === "sse" ? "sse" : "mcp";
    this.client = await connect(`http://127.0.0.1:${line.port}/${path}`, options);
  }

  async #connectChannel(options: ClientOptions): Promise<void> {
    const [ours, theirs] = this.transport === "memory" ? createChannelPair() : createPipePair();
    await this.server.accept(theirs);
    let cuts: "request" | "answer" | undefined;
    const cutAt = (what: typeof cuts) => () => {
      if (cuts !== what) return "pass" as const;
      channel.cut();
      return "drop" as const;
    };
    const atCall = cutAt("request");
    const channel: FaultyChannel = withFaults(ours, {
      send: { fate: (frame) => (frame.includes("tools/call") ? atCall() : "pass") },
      receive: { fate: cutAt("answer") },
    });
    this.line = {
      cut: () => channel.cut(),
      cutRequest: () => {
        cuts = "request";
      },
      cutAnswer: () => {
        cuts = "answer";
      },
    };
    this.client = await connect({ channel }, options);
  }

  call(options?: CallOptions): Promise<Verdict> {
    return verdictOf(this.client.callTool("work", {}, options));
  }

  async close(): Promise<void> {
    await this.client?.close();
    await this.server?.close();
    await this.#close();
  }
}

interface Row {
  readonly how: string;
  /** On which wires; on all of them unless told. */
  readonly on?: (wire: Wire) => boolean;
  readonly client?: (place: Place) => ClientOptions;
  readonly server?: ServerOptions;
  end(place: Place): Promise<Verdict>;
  /** The errors that may come of it, each with its delivery. */
  readonly comes: readonly string[];
  /** Whether the handler runs; undefined where either may be. */
  readonly runs?: boolean;
}

const isHttp = ({ transport }: Wire) => transport === "node" || transport === "fetch";
const isLegacyHttp = (wire: Wire) => isHttp(wire) && wire.era === "legacy";

/** The call runs when this happens to it. */
async function whileRunning(place: Place, happens: () => unknown, options?: CallOptions): Promise<Verdict> {
  const call = place.call(options);
  await place.begun.opened;
  await happens();
  return call;
}

const REFUSAL = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message: "Busy" } });
const json = { "content-type": "application/json" };

function byStatus(status: number, comes: string, headers = {}, body = "no"): Row {
  return {
    how: `held back and refused with ${status}${body === "no" ? "" : ", JSON-RPC"}${"retry-after" in headers ? ", Retry-After" : ""}`,
    on: isHttp,
    async end(place) {
      const held = (place.line as HttpLine).hold("held back");
      const call = place.call();
      (await held)(status, headers, body);
      return call;
    },
    comes: [comes],
    runs: false,
  };
}

/** A proxy passes the call on and then answers in the server's place. */
function byProxy(status: number, headers = {}): Row {
  return {
    how: `passed on and answered with ${status}${"retry-after" in headers ? ", Retry-After" : ""} by a proxy`,
    on: isHttp,
    async end(place) {
      const held = (place.line as HttpLine).hold("passed on");
      return whileRunning(place, async () => (await held)(status, headers, "<html>no</html>"));
    },
    comes: ["ConnectionError sent"],
    runs: true,
  };
}

const ROWS: readonly Row[] = [
  {
    how: "refused by the server",
    end: ({ client }) => verdictOf(client.callTool("unknown")),
    comes: ["RpcError answered", "RpcError refused"],
    runs: false,
  },
  ...[401, 403, 405, 413, 429, 431].map((status) => byStatus(status, "ConnectionError refused")),
  ...[400, 408, 409, 500, 502, 503, 504].map((status) => byStatus(status, "ConnectionError sent")),
  byStatus(503, "ConnectionError sent", { "retry-after": "9" }),
  byStatus(503, "RpcError answered", json, REFUSAL),
  byStatus(503, "RpcError refused", { ...json, "retry-after": "9" }, REFUSAL),
  byStatus(429, "RpcError refused", json, REFUSAL),
  ...[500, 502, 503, 504].map((status) => byProxy(status)),
  byProxy(503, { "retry-after": "1" }),
  {
    how: "cut before the request",
    async end(place) {
      place.line.cut();
      return place.call();
    },
    comes: ["ConnectionError not_sent", "ConnectionError sent"],
    runs: false,
  },
  {
    how: "cut during the request",
    async end(place) {
      place.line.cutRequest();
      return place.call();
    },
    comes: ["ConnectionError sent"],
    runs: false,
  },
  {
    how: "cut after the request",
    end: (place) => whileRunning(place, () => place.line.cut()),
    comes: ["ConnectionError sent", "ConnectionError answer_lost"],
    runs: true,
  },
  {
    how: "cut during the answer",
    end: (place) =>
      whileRunning(place, () => {
        place.line.cutAnswer();
        place.release.open();
      }),
    comes: ["ConnectionError sent", "ConnectionError answer_lost"],
    runs: true,
  },
  {
    how: "drained, and out of time",
    end: (place) => whileRunning(place, () => place.server.drain(0)),
    comes: ["RpcError answered", "ConnectionError sent", "ConnectionError answer_lost"],
    runs: true,
  },
  {
    how: "the server closed",
    end: (place) => whileRunning(place, () => place.server.close()),
    comes: ["RpcError answered", "ConnectionError sent", "ConnectionError answer_lost"],
    runs: true,
  },
  {
    how: "the server closed, JSON mode",
    on: isHttp,
    server: { http: { responseMode: "json" } },
    end: (place) => whileRunning(place, () => place.server.close()),
    comes: ["RpcError answered"],
    runs: true,
  },
  {
    how: "the client closed",
    end: (place) => whileRunning(place, () => place.client.close()),
    comes: ["ConnectionError sent", "ConnectionError answer_lost"],
    runs: true,
  },
  {
    how: "closed before it began",
    async end(place) {
      await place.client.close();
      return place.call();
    },
    comes: ["ConnectionError not_sent"],
    runs: false,
  },
  {
    how: "cancelled",
    async end(place) {
      const abort = new AbortController();
      return whileRunning(place, () => abort.abort(), { signal: abort.signal });
    },
    comes: ["AbortError undefined"],
    runs: true,
  },
  {
    how: "cancelled before it was sent",
    async end(place) {
      const abort = new AbortController();
      const call = place.call({ signal: abort.signal });
      abort.abort();
      return call;
    },
    comes: ["AbortError undefined"],
  },
  {
    how: "timed out",
    client: ({ clock }) => ({ clock }),
    end: (place) => whileRunning(place, () => place.clock.advance(500), { deadlineMs: 500 }),
    comes: ["TimeoutError sent", "TimeoutError answer_lost"],
    runs: true,
  },
  ...(["sse", "json"] as const).map(
    (responseMode): Row => ({
      how: `its session ended by another, ${responseMode}`,
      on: isLegacyHttp,
      server: { http: { responseMode } },
      async end(place) {
        const { session } = place.client;
        return whileRunning(place, () =>
          place.server.fetch(
            new Request("http://localhost/mcp", { method: "DELETE", headers: { "mcp-session-id": session?.id ?? "" } }),
          ),
        );
      },
      comes: ["RpcError answered", "ConnectionError answer_lost"],
      runs: true,
    }),
  ),
  {
    how: "resume refused: the session is gone",
    on: isLegacyHttp,
    server: { http: { resumable: true } },
    client: () => ({ reconnect: { firstDelayMs: 1 } }),
    async end(place) {
      const call = place.call({ onResumable: () => place.release.open() });
      await Promise.all([place.begun.opened, place.release.opened]);
      const headers = { "mcp-session-id": place.client.session?.id ?? "" };
      await place.server.fetch(new Request("http://localhost/mcp", { method: "DELETE", headers }));
      return call;
    },
    comes: ["ConnectionError answer_lost"],
    runs: true,
  },
  {
    how: "lost between two rounds",
    on: ({ era }) => era === "modern",
    client: (place) => ({
      // By default the client sends the answers again for up to three minutes.
      limits: { maxResends: 1 },
      onElicit: () => {
        place.line.cut();
        return { action: "accept", content: {} };
      },
    }),
    end: ({ client }) => verdictOf(client.callTool("ask")),
    comes: ["ConnectionError answer_lost", "ConnectionError sent"],
    runs: true,
  },
];

/** The verdict must fit what the handler wrote down, once nothing can be written any more. */
function check({ comes, runs }: Omit<Row, "how" | "end">, verdict: Verdict, journal: Journal): void {
  const { name, delivery, retrySafe, message } = verdict;
  const begun = journal.count("it");
  ok(begun <= 1, `it ran ${begun} times`);
  if (runs !== undefined) equal(begun, runs ? 1 : 0, `the handler: ${message}`);
  ok(comes.includes(`${name} ${delivery}`), `${name} ${delivery}: ${message}`);
  if (delivery !== undefined) equal(retrySafe, delivery === "not_sent" || delivery === "refused");
  if (retrySafe === true) equal(begun, 0, `said to be safe to repeat: ${message}`);
  if (delivery === "answer_lost") equal(begun, 1, `said to have been taken: ${message}`);
}

describe("the verdict on a call agrees with what its handler did", { timeout: 240_000 }, () => {
  const places = TRANSPORTS.flatMap((transport) =>
    (["modern", "legacy"] as const).map((era) => [era, transport] as const),
  ).filter(([era, transport]) => era === "legacy" || transport !== "sse");
  for (const row of ROWS) {
    for (const [era, transport] of places) {
      if (row.on !== undefined && !row.on({ era, transport })) continue;
      test(`${row.how} [${era}-${transport}]`, async (t) => {
        const place = new Place(t, era, transport);
        await place.open(row.client?.(place), row.server);
        const verdict = await row.end(place);
        await place.close();
        check(row, verdict, place.journal);
      });
    }
  }
});

describe("the verdict on a call whose server is killed", { timeout: 240_000 }, () => {
  for (const era of ["modern", "legacy"] as const) {
    test(`stdio [${era}]`, async (t) => {
      const journal = new Journal(t);
      const stderr = new Lines();
      const client = await connect({ ...child("worker", journal.file, "stdio"), stderr: stderr.take }, { era });
      t.after(() => client.close());
      const call = verdictOf(client.callTool("work", { call: "it" }));
      await stderr.until("begin it");
      process.kill(Number((await stderr.until(/^pid /)).slice(4)), "SIGKILL");
      check({ comes: ["ConnectionError sent"], runs: true }, await call, journal);
      const late = await verdictOf(client.callTool("work", { call: "late" }));
      deepEqual([late.delivery, late.retrySafe, journal.count("late")], ["not_sent", true, 0]);
    });

    for (const restarted of [false, true]) {
      test(`HTTP${restarted ? ", and started again" : ""} [${era}]`, async (t) => {
        const journal = new Journal(t);
        const first = spawnBare(t, child("worker", journal.file, "0"));
        const port = (await first.stderr.until(/^port /)).slice(5);
        const reconnect = { firstDelayMs: 10, maxFruitless: restarted ? 1000 : 3 };
        const client = await connect(`http://127.0.0.1:${port}/mcp`, { era, reconnect, onError: () => {} });
        t.after(() => client.close());
        const call = verdictOf(client.callTool("work", { call: "it" }));
        await first.stderr.until("begin it");
        first.process.kill("SIGKILL");
        await first.gone;
        if (restarted) await spawnBare(t, child("worker", journal.file, port)).stderr.until(/^port /);
        const comes = era === "legacy" ? ["ConnectionError answer_lost"] : ["ConnectionError sent"];
        check({ comes, runs: true }, await call, journal);
        if (restarted) return;
        const late = await verdictOf(client.callTool("work", { call: "late" }));
        deepEqual([late.delivery, late.retrySafe, journal.count("late")], ["not_sent", true, 0]);
      });
    }
  }
});
