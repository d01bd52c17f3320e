import { type Client, type ClientOptions, connect, type Target } from "bowline/client";
import { McpServer } from "bowline/server";
import { createChannelPair, type Recording } from "bowline/testing";
import * as z from "zod";
import type { Channel } from "#src/protocol/jsonrpc/channel.js";
import { createPipePair } from "./each-wire.js";

/** Server whose tools use what a recording has to keep: progress, a question, a cancellation, failures. */
export function harbour(): McpServer {
  const server = new McpServer({ name: "harbour", version: "1.0.0" });
  server.tool(
    "moor",
    { input: z.object({ ship: z.string() }), annotations: { readOnlyHint: false } },
    async ({ ship }, ctx) => {
      for (let line = 1; line <= 3; line++) await ctx.progress(line, 3, `line ${line} of ${ship}`);
      return `${ship} is moored`;
    },
  );
  server.tool("cast-off", { input: z.object({ berth: z.string() }) }, async ({ berth }, ctx) => {
    const answer = await ctx.elicit(`Let go from ${berth}?`, z.object({ sure: z.boolean() }));
    return answer.action === "accept" && answer.content.sure ? "off" : "stays";
  });
  server.tool("sound-the-horn", async (_args, ctx) => {
    await ctx.progress(1);
    await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve(), { once: true }));
    return "silent";
  });
  server.tool("run-aground", () => ({
    content: [{ type: "text", text: "the keel touches the ground" }],
    isError: true,
  }));
  server.resource("berth://n1", { name: "n1" }, () => "free");
  return server;
}

/** Wire between a client and a server of a test. */
export interface RecordedWire {
  readonly name: string;
  readonly era: "modern" | "legacy";
  readonly isHttp: boolean;
  /** Connects a client whose traffic is recorded. */
  connect(server: McpServer, recording: Recording, options?: ClientOptions, faulty?: Faulty): Promise<Client>;
}

/** Wraps what a client uses, beneath the recorder. */
export interface Faulty {
  readonly channel?: (channel: Channel) => Channel;
  readonly fetch?: (fetch: Fetch) => Fetch;
}

type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

/** `fetch` that ends in a server of this process. */
export function fetchInto(server: { fetch(request: Request): Promise<Response> }): Fetch {
  return (url, init) => {
    init.signal?.throwIfAborted();
    const aborted = new Promise<never>((_, reject) =>
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason), { once: true }),
    );
    aborted.catch(() => {});
    return Promise.race([server.fetch(new Request(url, init)), aborted]);
  };
}

export const HTTP_URL = "http://localhost/mcp";

/** Both eras, by lines over a pipe and by HTTP. */
export const RECORDED_WIRES: readonly RecordedWire[] = (["modern", "legacy"] as const).flatMap((era) => [
  {
    name: `${era}-stdio`,
    era,
    isHttp: false,
    async connect(server, recording, options = {}, faulty = {}) {
      const [ours, theirs] = createPipePair();
      await server.accept(theirs);
      const channel = faulty.channel?.(ours) ?? ours;
      return connect(...recording.client({ channel }, { era, ...options }));
    },
  },
  {
    name: `${era}-http`,
    era,
    isHttp: true,
    async connect(server, recording, options = {}, faulty = {}) {
      const into = fetchInto(server);
      const fetch = faulty.fetch?.(into) ?? into;
      return connect(...recording.client(HTTP_URL, { era, fetch, ...options }));
    },
  },
]);

/** Connects to a target of a replay in the way of the wire. */
export async function connectReplay(
  wire: RecordedWire,
  target: { fetch(request: Request): Promise<Response> } & Extract<Target, { accept: unknown }>,
  options: ClientOptions = {},
): Promise<Client> {
  if (wire.isHttp) return connect(HTTP_URL, { era: wire.era, fetch: fetchInto(target), ...options });
  const [ours, theirs] = createChannelPair();
  await target.accept(theirs);
  return connect({ channel: ours }, { era: wire.era, ...options });
}
