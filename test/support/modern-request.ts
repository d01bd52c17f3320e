import { encodeHeaderValue } from "#src/http/headers.js";

export const VERSION = "2026-07-28";

export interface RequestInit {
  readonly id?: string | number;
  readonly params?: Record<string, unknown>;
  /** Members of `_meta`, over the usual ones; undefined takes one away. */
  readonly meta?: Record<string, unknown>;
  /** Headers over the usual ones, by lower-case name; undefined takes one away. */
  readonly headers?: Record<string, string | undefined>;
}

export interface ModernRequest {
  readonly headers: Record<string, string | undefined>;
  readonly body: {
    readonly jsonrpc: "2.0";
    readonly id?: string | number;
    readonly method: string;
    readonly params: Record<string, unknown>;
  };
}

/** A request as a flawless client writes it, with the faults that a test asks for. */
export function modernRequest(method: string, init: RequestInit = {}): ModernRequest {
  const { params = {}, meta, id = 1 } = init;
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": { name: "tester", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
    ...meta,
  };
  const name = params.name ?? params.uri;
  return {
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(typeof name === "string" ? { "mcp-name": encodeHeaderValue(name) } : undefined),
      ...init.headers,
    },
    body: { jsonrpc: "2.0", id, method, params: { ...params, _meta } },
  };
}

/** The JSON messages of an event stream's text, comments left out. */
export function sseMessages(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice("data: ".length)) as Record<string, unknown>);
}
