import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import type { ProtocolVersion } from "bowline/client";
import { modernServer } from "#src/era/modern/server/era.js";
import type { ServerEra } from "#src/era/server-era.js";
import { createNodeExchange } from "#src/node/http/exchange.js";
import { defaultValidator } from "#src/schema/json-schema/validator.js";
import type { ServerOptions } from "#src/server/options.js";
import type { Server } from "#src/server/server.js";
import { serverOfEras } from "./core-of.js";
import { ENGINE, nameOf } from "./each-wire.js";
import type { ModernRequest } from "./modern-request.js";
import type { Wire } from "./verifies.js";

/** Sends one request to a server; the signal is the client's way to leave. */
export type Send = (
  request: Pick<ModernRequest, "headers"> & { readonly body: unknown },
  signal?: AbortSignal,
) => Promise<Response>;

/** A place where servers can be reached by HTTP. */
export interface HttpHost {
  serve(server: AnyServer): Promise<Send>;
}

export type AnyServer = Server;

/** Two nodes behind nginx in place of each server, in a run on their wires. */
const nodes = ENGINE === undefined ? undefined : await import("./nodes/server.js");

/** A server of this era alone. */
export function defineServer(options: ServerOptions = {}, eras: readonly ServerEra[] = [modernServer]): Server {
  const info = { name: "scenario", version: "1.0.0" };
  if (nodes === undefined) return serverOfEras(info, { validator: defaultValidator, ...options }, eras);
  return new nodes.McpServer(info, {
    versions: eras.flatMap(({ versions }) => versions as ProtocolVersion[]),
    ...options,
  });
}

/** Serves over a real socket; returns the port. */
export async function listen(t: TestContext, server: AnyServer): Promise<number> {
  const http = createServer((req, res) => server.handle(createNodeExchange(req, res)));
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(async () => {
    await server.close();
    http.closeAllConnections();
    http.close();
  });
  return (http.address() as AddressInfo).port;
}

const nodeHost: Wire<HttpHost> = {
  name: nameOf("modern", "node"),
  open: (t) => ({
    serve: async (server) => {
      const origin = nodes === undefined ? `http://127.0.0.1:${await listen(t, server)}` : await balance(t, server);
      return (request, signal) => fetch(`${origin}/mcp`, toInit(request, signal));
    },
  }),
};

async function balance(t: TestContext, server: AnyServer): Promise<string> {
  const { serveNodes } = await import("./nodes/wire.js");
  t.after(() => server.close());
  return serveNodes(t, server);
}

const fetchHost: Wire<HttpHost> = {
  name: "modern-fetch",
  open: (t) => ({
    serve: async (server) => {
      t.after(() => server.close());
      return (request, signal) => server.fetch(new Request("http://localhost/mcp", toInit(request, signal)));
    },
  }),
};

/** Both ways of hosting HTTP. */
export const eachHost: readonly Wire<HttpHost>[] = nodes === undefined ? [nodeHost, fetchHost] : [nodeHost];

function toInit(request: Parameters<Send>[0], signal: AbortSignal | undefined): RequestInit {
  const headers = Object.entries(request.headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  // As bytes: a text would get a content type of its own where a test leaves it out.
  const body = new TextEncoder().encode(JSON.stringify(request.body));
  return { method: "POST", headers, body, ...(signal === undefined ? undefined : { signal }) };
}

/** Reads the messages of a stream one by one; undefined at its end. */
export function readMessages(response: Response): {
  next(): Promise<Record<string, unknown> | undefined>;
  leave(): Promise<void>;
} {
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>;
  let buffered = "";
  const next = async (): Promise<Record<string, unknown> | undefined> => {
    for (;;) {
      const end = buffered.indexOf("\n\n");
      if (end === -1) {
        const { done, value } = await reader.read();
        if (done) return undefined;
        buffered += value;
        continue;
      }
      const block = buffered.slice(0, end);
      buffered = buffered.slice(end + 2);
      if (block.startsWith("data: ")) return JSON.parse(block.slice("data: ".length)) as Record<string, unknown>;
    }
  };
  return { next, leave: () => reader.cancel() };
}

/** Status, JSON-RPC error code and id of an answer. */
export async function faultOf(response: Response): Promise<[status: number, code: number | undefined, id: unknown]> {
  const body = (await response.json()) as { id?: unknown; error?: { code: number } };
  return [response.status, body.error?.code, body.id];
}

export async function resultOf(response: Response): Promise<Record<string, unknown>> {
  const body = (await response.json()) as { result: Record<string, unknown> };
  return body.result;
}
