import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { connect } from "bowline/client";

/** Notification that a client heard outside of its calls. */
export interface Heard {
  readonly method: string;
  readonly params?: object | undefined;
}

/** Client of some SDK with its default options. */
export interface AnyClient {
  callTool(name: string, signal?: AbortSignal): Promise<unknown>;
  subscribe(uri: string): Promise<unknown>;
  close(): Promise<void>;
}

/** Opens a client. `hear` gets the notifications that belong to no call. */
export type OpenAnyClient = (url: string, hear: (heard: Heard) => void) => Promise<AnyClient>;

const info = { name: "c", version: "1" };

/** Clients of handshake-era HTTP, by name: the official SDKs, with default options, and our own. */
export const anyClients: Readonly<Record<"v1" | "v2" | "bowline", OpenAnyClient>> = {
  async v1(url, hear) {
    const client = new ClientV1(info);
    client.fallbackNotificationHandler = async (heard) => hear(heard);
    await client.connect(new TransportV1(new URL(url)) as Transport);
    return {
      callTool: (name, signal) => client.callTool({ name }, undefined, signal && { signal }),
      subscribe: (uri) => client.subscribeResource({ uri }),
      close: () => client.close(),
    };
  },
  async v2(url, hear) {
    const client = new ClientV2(info);
    client.fallbackNotificationHandler = async (heard) => hear(heard);
    await client.connect(new TransportV2(new URL(url)));
    return {
      callTool: (name, signal) => client.callTool({ name }, signal && { signal }),
      subscribe: (uri) => client.subscribeResource({ uri }),
      close: () => client.close(),
    };
  },
  async bowline(url, hear) {
    const client = await connect(url, { info, era: "legacy", onNotification: hear });
    return {
      callTool: (name, signal) => client.callTool(name, {}, signal && { signal }),
      subscribe: (uri) => client.watch({ resources: [uri] }),
      close: () => client.close(),
    };
  },
};
