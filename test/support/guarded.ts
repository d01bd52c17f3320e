import type { TestContext } from "node:test";
import { type Protection, type ProtectOptions, protect, type TokenInfo } from "bowline/auth/server";
import { type Client, connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { type Context, McpServer, type Server, type ServerOptions } from "bowline/server";
import { type Challenge, parseChallenges } from "#src/auth/client/challenge.js";
import { ENGINE, nameOf } from "./each-wire.js";
import { modernRequest } from "./modern-request.js";
import { initialize } from "./plain-http.js";
import type { Wire } from "./verifies.js";

export const ORIGIN = "https://mcp.example";
export const RESOURCE = `${ORIGIN}/mcp`;
export const ISSUER = "https://login.example";
/** What the tests call now. */
export const NOW = Date.UTC(2026, 10, 1);

type Headers_ = Readonly<Record<string, string | undefined>>;

/** An answer of a protected server, with its challenges taken apart. */
export interface Knock {
  readonly status: number;
  readonly headers: Headers;
  readonly challenges: readonly Challenge[];
  /** The first challenge's parameters. */
  readonly params: Readonly<Record<string, string>>;
  /** Empty for a stream that does not end. */
  readonly text: string;
}

export interface RawInit {
  readonly method?: string;
  readonly headers?: Headers_;
  readonly body?: string;
}

/** A protected server on one wire. */
export interface Guarded {
  readonly server: Server;
  readonly gate: Protection;
  /** Every token that the verifier was asked about. */
  readonly asked: string[];
  /** What handlers saw as `ctx.auth`. */
  readonly seen: unknown[];
  /** Everything that was logged, as text. */
  readonly logs: string[];
  /** Sends one request as it is, to a path of the server. */
  send(path: string, init?: RawInit): Promise<Response>;
  /** Takes a request for the server's public address to where it is. */
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
  /** The first request that a client of this wire makes, with these headers and nothing else about who sends it. */
  knock(headers?: Headers_, path?: string): Promise<Knock>;
  /** The same with a bearer token. */
  present(token: string): Promise<Knock>;
  /** A client whose requests carry what `authorization` returns at their time. */
  client(authorization: () => string): Promise<Client>;
}

export interface GuardOptions {
  /** Over the usual settings; undefined takes one away. */
  readonly protect?: { readonly [K in keyof ProtectOptions]?: ProtectOptions[K] | undefined };
  readonly http?: ServerOptions["http"];
  readonly server?: ServerOptions;
  /** Defines more than the usual tools. */
  readonly define?: (server: Server) => void;
}

export interface GuardedWorld {
  readonly era: "modern" | "legacy";
  readonly transport: "node" | "fetch" | "sse";
  /** What verifiers find, by token. */
  readonly tokens: Map<string, Partial<TokenInfo> | Error>;
  guard(options?: GuardOptions): Promise<Guarded>;
}

function createWorld(t: TestContext, era: GuardedWorld["era"], transport: GuardedWorld["transport"]): GuardedWorld {
  const tokens: GuardedWorld["tokens"] = new Map([["good", {}]]);
  return { era, transport, tokens, guard: (options = {}) => guard(t, { era, transport, tokens }, options) };
}

/** A token for this resource that has a while to live. */
export function toInfo(token: string, more: Partial<TokenInfo> = {}): TokenInfo {
  return {
    token,
    clientId: "client-1",
    scopes: [],
    expiresAt: NOW / 1000 + 60,
    audience: RESOURCE,
    subject: "ada",
    issuer: ISSUER,
    ...more,
  };
}

async function guard(
  t: TestContext,
  { era, transport, tokens }: Pick<GuardedWorld, "era" | "transport" | "tokens">,
  options: GuardOptions,
): Promise<Guarded> {
  const asked: string[] = [];
  const seen: unknown[] = [];
  const logs: string[] = [];
  const verify = async (token: string) => {
    asked.push(token);
    const found = tokens.get(token);
    if (found instanceof Error) throw found;
    return found === undefined ? undefined : toInfo(token, found);
  };
  const settings = { verify, resource: RESOURCE, authorizationServers: [ISSUER], now: () => NOW, ...options.protect };
  const gate = protect(
    Object.fromEntries(
      Object.entries(settings).filter(([, value]) => value !== undefined),
    ) as unknown as ProtectOptions,
  );
  const write = (message: string, fields?: object) => void logs.push(`${message} ${shown(fields)}`);
  const who = (_: unknown, ctx: Context) => {
    seen.push(ctx.auth);
    return JSON.stringify(ctx.auth ?? null);
  };
  const server = new McpServer(
    { name: "guarded", version: "1" },
    {
      warnDeprecated: false,
      logger: { debug: write, info: write, warn: write, error: write },
      ...options.server,
      http: {
        gate,
        allowedHosts: ["mcp.example", "127.0.0.1", "localhost"],
        ...(transport === "sse" ? { sse: true } : undefined),
        ...options.http,
      },
    },
  )
    .tool("who", {}, who)
    .tool("write", { requires: { scopes: ["write"] } }, who)
    .tool("both", { requires: { scopes: ["a", "b"] } }, who);
  options.define?.(server);
  const base = transport === "fetch" ? undefined : await listen(t, server);
  if (base === undefined) t.after(() => server.close());

  const send = (path: string, init: RawInit = {}): Promise<Response> => {
    const headers = Object.entries(init.headers ?? {}).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const request = { method: init.method ?? "GET", headers, ...(init.body === undefined ? {} : { body: init.body }) };
    if (base === undefined) return server.fetch(new Request(`${ORIGIN}${path}`, request));
    return fetch(`${base}${path}`, { ...request, redirect: "manual" });
  };
  const knock = async (headers: Headers_ = {}, path = ""): Promise<Knock> => {
    if (transport === "sse") {
      return toKnock(await send(`/sse${path}`, { headers: { accept: "text/event-stream", ...headers } }), true);
    }
    const { headers: usual, body } =
      era === "modern" ? modernRequest("tools/call", { params: { name: "who", arguments: {} } }) : initialize();
    return toKnock(
      await send(`/mcp${path}`, { method: "POST", headers: { ...usual, ...headers }, body: JSON.stringify(body) }),
    );
  };
  const client = async (authorization: () => string): Promise<Client> => {
    const url = `${base ?? ORIGIN}/${transport === "sse" ? "sse" : "mcp"}`;
    const connected = await connect(url, {
      era,
      fetch: (to, init) => {
        const headers = new Headers(init.headers);
        if (authorization() !== "") headers.set("authorization", authorization());
        return base === undefined
          ? server.fetch(new Request(to, { ...init, headers }))
          : fetch(to, { ...init, headers });
      },
    });
    t.after(() => connected.close());
    return connected;
  };
  const fetchInto = (url: URL, init: RequestInit) =>
    base === undefined ? server.fetch(new Request(url, init)) : fetch(`${base}${url.pathname}${url.search}`, init);
  const present = (token: string) => knock({ authorization: `Bearer ${token}` });
  return { server, gate, asked, seen, logs, send, fetch: fetchInto, knock, present, client };
}

async function listen(t: TestContext, server: Guarded["server"]): Promise<string> {
  if (ENGINE !== undefined) {
    const { serveNodes } = await import("./nodes/wire.js");
    t.after(() => server.close());
    return serveNodes(t, server);
  }
  const running = await serveHttp(server);
  t.after(() => running.close());
  return new URL(running.url).origin;
}

export async function toKnock(response: Response, endless = false): Promise<Knock> {
  const stream = endless && response.status === 200;
  if (stream) await response.body?.cancel();
  const challenges = parseChallenges(response.headers.get("www-authenticate") ?? "");
  return {
    status: response.status,
    headers: response.headers,
    challenges,
    params: Object.fromEntries(challenges[0]?.params ?? []),
    text: stream ? "" : await response.text(),
  };
}

function shown(fields: object | undefined): string {
  if (fields === undefined) return "";
  return JSON.stringify(fields, (_, value: unknown) =>
    value instanceof Error ? { message: value.message, stack: value.stack, cause: value.cause } : value,
  );
}

function wires(
  names: readonly (readonly [GuardedWorld["era"], GuardedWorld["transport"]])[],
): readonly Wire<GuardedWorld>[] {
  const offered = ENGINE === undefined ? names : names.filter(([, transport]) => transport === "node");
  return offered.map(([era, transport]) => ({
    name: transport === "sse" ? "sse" : nameOf(era, transport),
    open: (t: TestContext) => createWorld(t, era, transport),
  }));
}

const MODERN = [
  ["modern", "node"],
  ["modern", "fetch"],
] as const;
const LEGACY = [
  ["legacy", "node"],
  ["legacy", "fetch"],
] as const;

/** Both eras on both hosts. */
export const guardedHttp = wires([...MODERN, ...LEGACY]);
export const guardedLegacy = wires(LEGACY);
export const guardedModern = wires(MODERN);
/** Both hosts, for documents about a server, which have no era. */
export const guardedHosts = guardedModern.map(({ name, open }) => ({ name: name.replace("modern-", ""), open }));
/** And the transport of 2024-11-05. */
export const guardedSse = wires([["legacy", "sse"]]);
export const guardedEverywhere = [...guardedHttp, ...guardedSse];
