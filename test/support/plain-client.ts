import type { Server, ToolTypes } from "bowline/server";
import type { RecordedMessage } from "bowline/testing";
import type { World } from "./each-wire.js";

type Params = { readonly [key: string]: unknown };

const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A client that is not the SDK's: it sends what it is told to, and hands out what comes back. */
export interface PlainClient {
  /** Resolves with the whole response. */
  request(method: string, params?: Params): Promise<RecordedMessage>;
  /** Resolves with the result; rejects for an error. */
  result(method: string, params?: Params): Promise<Params>;
  readonly notifications: readonly RecordedMessage[];
}

/** Opens a channel to the server and, in the older era, shakes hands in the version given. */
export async function plainClient<Tools extends ToolTypes>(
  world: World,
  server: Server<Tools>,
  version = "2025-11-25",
): Promise<PlainClient> {
  const channel = await world.channel(server);
  const waiting = new Map<unknown, (message: RecordedMessage) => void>();
  const notifications: RecordedMessage[] = [];
  await channel.open({
    onFrame(text) {
      const message = JSON.parse(text) as RecordedMessage;
      if (message.method !== undefined) notifications.push(message);
      else waiting.get(message.id)?.(message);
    },
    onProblem: () => {},
    onClose: () => {},
  });
  let last = 0;
  const request = (method: string, params: Params = {}): Promise<RecordedMessage> => {
    const id = ++last;
    const _meta = { ...ENVELOPE, ...(params._meta as object | undefined) };
    const sent = world.era === "modern" ? { ...params, _meta } : params;
    const response = new Promise<RecordedMessage>((resolve) => waiting.set(id, resolve));
    void channel.send(JSON.stringify({ jsonrpc: "2.0", id, method, params: sent }));
    return response;
  };
  if (world.era === "legacy") {
    await request("initialize", {
      protocolVersion: version,
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    });
    void channel.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
  }
  const result = async (method: string, params?: Params): Promise<Params> => {
    const { result: given, error } = await request(method, params);
    if (given === undefined) throw new Error(`${method}: ${error?.message}`);
    return given;
  };
  return { request, result, notifications };
}
