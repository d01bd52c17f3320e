import type { TestContext } from "node:test";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { HttpScript, type Received } from "./http-script.js";

export const DISCOVERED = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: "private",
};
export const INITIALIZED = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "scripted", version: "1" },
};

/** Answers the handshakes of both eras, refuses the GET, and leaves the rest to `serve`. */
export function answerAll(serve: (received: Received) => void, discover?: (received: Received) => void) {
  return (received: Received): void => {
    if (received.method === "GET") received.status(405);
    else if (received.method === "DELETE") received.status(204);
    else if (received.rpcMethod === "server/discover") (discover ?? ((r) => r.result(DISCOVERED)))(received);
    else if (received.rpcMethod === "initialize") received.result(INITIALIZED, { "mcp-session-id": "s" });
    else if (received.rpcMethod?.startsWith("notifications/")) received.status(202);
    else serve(received);
  };
}

/** A scripted server; `connectTo` connects the real client to it. Both end with the test. */
export async function scripted(t: TestContext, serve: (received: Received) => void) {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = serve;
  const connectTo = async (options: ClientOptions = {}): Promise<Client> => {
    const client = await connect(script.url, options);
    t.after(() => client.close());
    return client;
  };
  return { script, connectTo };
}
