import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { type Client, connect, type RpcError } from "bowline/client";
import { serveHttp } from "bowline/node";
import { type Context, McpServer } from "bowline/server";
import { ClientTasks, tasksClient } from "bowline/tasks/client";
import { tasks } from "bowline/tasks/server";
import { casesOf, type Open, type Stage, until } from "#src/testing/contract/world.js";
import { registerAs } from "../../contract/register.js";
import { gate } from "../gate.js";

const stateKeys = [{ id: "k", secret: new Uint8Array(32).fill(1) }];
const INITIALIZE = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "c", version: "1" },
};

/** Registers the tests of servers whose engine becomes full while they serve. */
export function fullServers(name: string, openWorld: Open): void {
  const add = casesOf(registerAs(name), openWorld);

  add(
    "a call that runs ends with its result, new ones are refused, and all continues when there is room",
    async (stage) => {
      const { engine, urls, clusters, reached, goOn, counts } = await open(stage);
      const client = await connect(urls[0], { era: "legacy" });
      stage.scope.after(() => client.close());
      const call = client.callTool("work", {}, { onProgress: () => {} });
      await reached.opened;
      equal(await readiness(urls[0]), "ok");
      await engine.fill();

      await rejects(client.callTool("count"), ({ status, delivery, retrySafe, retryAfterMs }: RpcError) => {
        deepEqual([status, delivery, retrySafe, retryAfterMs], [503, "refused", true, 1_000]);
        return true;
      });
      equal(counts.runs, 0);
      equal(clusters[0].available, false);
      equal(await readiness(urls[0]), "degraded");
      for (const [what, response] of [
        ["handshake", await post(urls[0], undefined, { id: 1, method: "initialize", params: INITIALIZE })],
        ["GET", await fetch(urls[1], { headers: { accept: "text/event-stream", ...sessionOf(client) } })],
        ["level", await post(urls[0], client, { id: 2, method: "logging/setLevel", params: { level: "debug" } })],
      ] as const) {
        deepEqual([response.status, response.headers.get("retry-after")], [503, "1"], what);
        await response.body?.cancel();
      }

      goOn.open();
      equal((await call).text, "worked");
      await engine.free();
      await until(() => clusters[0].available, "the node knows that there is room");
      equal((await client.callTool("count")).text, "1");
      const other = await connect(urls[1], { era: "legacy" });
      equal((await other.callTool("count")).text, "2");
      await other.close();
    },
  );

  add(
    "the client of a call that lost its connection gets all of it from another node, when there is room",
    async (stage) => {
      const { engine, urls, reached, goOn } = await open(stage);
      const client = await connect(urls[0], { era: "legacy" });
      stage.scope.after(() => client.close());
      const cut = new AbortController();
      const params = { name: "work", _meta: { progressToken: 7 } };
      const call = await post(urls[0], client, { id: 7, method: "tools/call", params }, cut.signal);
      const id = await firstId(call);
      await reached.opened;
      await engine.fill();
      cut.abort();
      goOn.open();
      const headers = { accept: "text/event-stream", "last-event-id": id, ...sessionOf(client) };
      const resumed = await fetch(urls[1], { headers });
      equal(resumed.status, 200);
      await engine.free();
      const text = await resumed.text();
      match(text, /half.*worked/s);
    },
  );

  add("a round of 2026-07-28 is refused while there is no room, and continues then", async (stage) => {
    const { engine, urls, counts } = await open(stage);
    let questions = 0;
    const client = await connect(urls[0], {
      era: "modern",
      onElicit: async () => {
        questions++;
        await engine.fill();
        setTimeout(() => void engine.free(), 200);
        return { action: "accept", content: {} };
      },
    });
    stage.scope.after(() => client.close());
    equal((await client.callTool("order")).text, "ordered in step 1");
    deepEqual([questions, counts.steps], [1, 1]);
    equal((await client.callTool("count")).text, "1");
  });

  add("an answer of a session that cannot be stored is given to its call later", async (stage) => {
    const { engine, urls, counts } = await open(stage);
    let questions = 0;
    const client = await connect(urls[0], {
      era: "legacy",
      // The answer goes to the other node.
      fetch: async (url, init) => fetch(String(init?.body).includes('"result"') ? urls[1] : url, init),
      onElicit: async () => {
        questions++;
        await engine.fill();
        setTimeout(() => void engine.free(), 200);
        return { action: "accept", content: {} };
      },
    });
    stage.scope.after(() => client.close());
    equal((await client.callTool("order")).text, "ordered in step 1");
    deepEqual([questions, counts.steps], [1, 1]);
  });

  for (const era of ["modern", "legacy"] as const)
    add(`an answer to a task is stored when there is room, and the task continues (${era})`, async (stage) => {
      const { engine, urls, counts } = await open(stage);
      let questions = 0;
      const statuses: string[] = [];
      const client = await connect(urls[0], {
        era,
        extensions: [tasksClient({ pollIntervalMs: 50, minPollIntervalMs: 50, notifications: false })],
        onElicit: async () => {
          questions++;
          await engine.fill();
          setTimeout(() => void engine.free(), 200);
          return { action: "accept", content: {} };
        },
      });
      stage.scope.after(() => client.close());
      await client.tools().all();
      const task = await new ClientTasks(client).startTool("deliver");
      for await (const { status } of task) statuses.push(status);
      equal((await task.result).text, "ordered in step 1");
      deepEqual([questions, counts.steps, statuses.at(-1), statuses.includes("cancelled")], [1, 1, "completed", false]);
    });
}

/** Starts two servers with a log on the engine. */
async function open({ scope: t, node, engine }: Stage) {
  const { fill, free } = engine;
  if (fill === undefined || free === undefined) throw new Error("the engine of this adapter cannot be filled");
  const [reached, goOn] = [gate(), gate()];
  const counts = { runs: 0, steps: 0 };
  const clusters = [await node(), await node()] as const;
  const urls = await Promise.all(
    clusters.map(async (cluster) => {
      const server = new McpServer({ name: "depot", version: "1" }, { cluster, stateKeys, http: { resumable: true } });
      server.tool("count", {}, () => String(++counts.runs));
      server.tool("work", {}, async (_, ctx) => {
        reached.open();
        await goOn.opened;
        await ctx.progress(1, 2, "half");
        return "worked";
      });
      const order = async (_: unknown, ctx: Context) => {
        await ctx.elicit("Sure?", { type: "object", properties: {} });
        return `ordered in step ${await ctx.step("order", () => ++counts.steps)}`;
      };
      server.tool("order", {}, order);
      server.extend(tasks({ pollIntervalMs: 50 })).tool("deliver", { task: "required" }, order);
      const running = await serveHttp(server, { port: 0 });
      t.after(() => running.close());
      return new URL(running.url);
    }),
  );
  return { engine: { fill, free }, clusters, urls: urls as [URL, URL], reached, goOn, counts };
}

function sessionOf(client: Client | undefined): Record<string, string> {
  const id = client?.session?.id;
  return id === undefined ? {} : { "mcp-session-id": id, "mcp-protocol-version": INITIALIZE.protocolVersion };
}

async function readiness(url: URL): Promise<string> {
  return (await fetch(new URL("/readyz", url))).text();
}

/** Posts a request as a client written by the test. */
function post(url: URL, client: Client | undefined, message: object, signal?: AbortSignal): Promise<Response> {
  const accept = "application/json, text/event-stream";
  const headers = { "content-type": "application/json", accept, ...sessionOf(client) };
  return fetch(url, {
    method: "POST",
    headers,
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    ...(signal && { signal }),
  });
}

/** Reads the id of the first event of a stream, which goes on. */
async function firstId(response: Response): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    const [, id] = /^id: ?(.+)$/m.exec(text) ?? [];
    if (id !== undefined && text.includes("\n\n")) return id;
  }
  throw new Error(`the stream has no event: ${text}`);
}
