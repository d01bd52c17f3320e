import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import {
  AuthError,
  type AuthStep,
  type OAuth,
  type OAuthOptions,
  oauth,
  type PinnedOAuthOptions,
} from "bowline/auth/client";
import type { ProtocolVersion } from "bowline/client";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { modernRequest } from "./modern-request.js";
import { initialize } from "./plain-http.js";
import type { Wire } from "./verifies.js";

/** One request as it arrived, under the address that the client asked for. */
export interface Arrival {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string;
  /** The members of a form body. */
  readonly form: URLSearchParams;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly text?: string;
}

export type WorldOptions = Omit<PinnedOAuthOptions, "issuer"> & { readonly issuer?: string };

export type Handler = (request: Arrival) => Reply | undefined | Promise<Reply | undefined>;

/** Kept, so that a test can take the global one away. */
const realFetch = globalThis.fetch;
const HOST_HEADER = "x-asked-origin";
export const CALLBACK = "http://127.0.0.1:9/callback";
/** The address of the transport of 2024-11-05: a stream, and no place to post to. */
const OLD_PATH = "/sse";

/**
 * A protected MCP server, an authorization server and whatever hosts a test adds, behind one listener on this machine.
 * Host names are made up: `fetch` takes each request to the listener and tells it which origin was asked for.
 */
export class AuthWorld {
  readonly arrivals: Arrival[] = [];
  /** Overrules the built-in answer for `METHOD address`, without query; undefined leaves it to the built-in one. */
  readonly routes = new Map<string, Handler>();
  /** Whole origins that something else answers for. */
  readonly hosts = new Map<string, (request: Request) => Promise<Response>>();
  readonly mcp: string;
  /** The requests that carry messages, and those that come first, as `METHOD address`. */
  readonly posts: string;
  readonly entrance: string;
  /** Where the resource's metadata is. */
  readonly metadataAt: string;
  readonly as = new MockIssuer("https://as.example");
  readonly issuers = [this.as];
  /** Issuers that the resource's metadata lists. */
  listed = [this.as.issuer];
  prm: Record<string, unknown> = {};
  challenge: string;
  readonly era: "modern" | "legacy";
  readonly wire: "modern" | "legacy" | "sse";
  readonly #t: TestContext;
  /** Where the listener is. */
  readonly base: string;
  readonly #server;

  private constructor(t: TestContext, era: "modern" | "legacy", base: string, path: string) {
    this.mcp = `https://mcp.example${path}`;
    this.posts = `POST ${path === OLD_PATH ? "https://mcp.example/messages" : this.mcp}`;
    this.entrance = path === OLD_PATH ? `GET ${this.mcp}` : this.posts;
    this.metadataAt = `https://mcp.example/.well-known/oauth-protected-resource${path}`;
    this.challenge = `Bearer resource_metadata="${this.metadataAt}"`;
    this.#t = t;
    this.era = era;
    this.wire = path === OLD_PATH ? "sse" : era;
    this.base = base;
    const versions = era === "modern" ? ["2026-07-28"] : ["2025-11-25"];
    this.#server = new McpServer(
      { name: "guarded", version: "1" },
      {
        versions: versions as ProtocolVersion[],
        warnDeprecated: false,
        http: { allowedHosts: ["mcp.example"], sse: true },
      },
    )
      .tool("echo", {}, () => "echo")
      .tool("write", {}, () => "written");
  }

  static async open(t: TestContext, era: "modern" | "legacy", path = "/mcp"): Promise<AuthWorld> {
    let world: AuthWorld | undefined;
    const http = createServer((request, response) => void world?.serve(request, response));
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    t.after(async () => {
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    });
    world = new AuthWorld(t, era, `http://127.0.0.1:${(http.address() as AddressInfo).port}`, path);
    return world;
  }

  readonly fetch = async (url: URL | string, init: RequestInit = {}): Promise<Response> => {
    const asked = new URL(url);
    const headers = new Headers(init.headers);
    headers.set(HOST_HEADER, asked.origin);
    const response = await realFetch(`${this.base}${asked.pathname}${asked.search}`, { ...init, headers });
    return Object.defineProperty(response, "url", { value: asked.href });
  };

  /** A user who consents at once. */
  readonly browse = async (url: URL): Promise<string> => {
    const response = await this.fetch(url, { redirect: "manual" });
    return response.headers.get("location") ?? "";
  };

  /** Where the options need an issuer and name none, it is the first of this world. */
  oauth(options: WorldOptions = {}): OAuth {
    const user = options.grant === undefined ? { redirectUrl: CALLBACK, authorize: this.browse } : {};
    const isBare = [options.client ?? []].flat().some(({ issuer }) => issuer === undefined);
    const named = options.grant !== undefined || isBare ? { issuer: this.as.issuer } : {};
    return oauth({ fetch: this.fetch, ...user, ...named, ...options } as OAuthOptions);
  }

  async connect(options: ClientOptions): Promise<Client> {
    const client = await connect(this.mcp, { era: this.era, ...options });
    this.#t.after(() => client.close());
    return client;
  }

  /** What a client does on its wire: it connects, calls a tool and leaves. */
  async visit(auth: ClientOptions, tool = "echo"): Promise<void> {
    const client = await this.connect(auth);
    try {
      await client.callTool(tool, {});
    } finally {
      await client.close();
    }
  }

  /** The first request that a client of this era makes. */
  opening(init: RequestInit = {}): RequestInit {
    const opening = this.era === "modern" ? modernRequest("server/discover") : initialize();
    const headers = new Headers(opening.headers as Record<string, string>);
    for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
    return { method: "POST", body: JSON.stringify(opening.body), ...init, headers };
  }

  /** Sends it with authorization, without a client around it. */
  call(auth: OAuth, init: RequestInit = {}, url = this.mcp): Promise<Response> {
    return auth.fetch(url, this.opening(init));
  }

  /** Requests to addresses that begin so, `METHOD https://...`. */
  to(prefix: string): Arrival[] {
    return this.arrivals.filter(({ method, url }) => `${method} ${url.href}`.startsWith(prefix));
  }

  count(prefix: string): number {
    return this.to(prefix).length;
  }

  /** Tells which of the made-up issuers made a token that is good here. */
  accepts(request: Arrival): boolean {
    const token = request.headers.get("authorization")?.replace(/^(Bearer|DPoP) /, "") ?? "";
    return this.issuers.some((issuer) => this.listed.includes(issuer.issuer) && issuer.live.has(token));
  }

  async serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const headers = new Headers(incoming.headers as Record<string, string>);
    const origin = headers.get(HOST_HEADER) ?? "";
    headers.delete(HOST_HEADER);
    const body = Buffer.concat(chunks).toString();
    const url = new URL(incoming.url ?? "/", origin);
    const arrival = { method: incoming.method ?? "", url, headers, body, form: new URLSearchParams(body) };
    this.arrivals.push(arrival);
    const overruled = await this.routes.get(`${arrival.method} ${origin}${url.pathname}`)?.(arrival);
    const reply = overruled ?? (await this.#answer(arrival));
    if (reply instanceof Response) await pass(reply, outgoing);
    else write(reply, outgoing);
  }

  async #answer(request: Arrival): Promise<Reply | Response> {
    const { url } = request;
    const host = this.hosts.get(url.origin);
    if (host !== undefined) return await host(toRequest(request));
    if (/^https:\/\/mcp\.example\/\.well-known\/oauth-protected-resource\/(mcp|sse)/.test(url.href))
      return this.#metadata();
    if (url.origin + url.pathname === this.mcp || url.pathname === "/messages") return await this.#serveMcp(request);
    const issuer = this.issuers.find(({ issuer }) => url.href.startsWith(new URL(issuer).origin));
    return issuer?.answer(request) ?? { status: 404 };
  }

  #metadata(): Reply {
    return { json: { resource: this.mcp, authorization_servers: this.listed, ...this.prm } };
  }

  async #serveMcp(request: Arrival): Promise<Reply | Response> {
    if (request.url.pathname === OLD_PATH && request.method === "POST") return { status: 405 };
    if (!this.accepts(request)) return { status: 401, headers: { "www-authenticate": this.challenge } };
    return await this.#server.fetch(toRequest(request));
  }
}

/** The answer to an authorization request, as a browser brings it back: its state and these parameters. */
export function answerTo(request: URL, params: Readonly<Record<string, string>>): Record<string, string> {
  const back = new URL(request.searchParams.get("redirect_uri") ?? "");
  const state = request.searchParams.get("state") ?? "";
  return { ...Object.fromEntries(back.searchParams), state, ...params };
}

/** An authorization server that says yes. */
export class MockIssuer {
  metadata: Record<string, unknown>;
  /** Access tokens that are good. */
  readonly live = new Set<string>();
  /** Every code and token that it ever made. */
  readonly issued: string[] = [];
  readonly codes = new Map<string, URLSearchParams>();
  /** Refresh tokens, each good once. */
  readonly refresh = new Set<string>();
  /** Members of token responses. */
  extra: Record<string, unknown> = {};
  refreshes = false;
  sendsIss = true;
  #made = 0;

  constructor(readonly issuer: string) {
    const { origin } = new URL(issuer);
    this.metadata = {
      issuer,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      revocation_endpoint: `${origin}/revoke`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
      authorization_response_iss_parameter_supported: true,
    };
  }

  answer({ method, url, form, body }: Arrival): Reply {
    const path = new URL(this.issuer).pathname.replace(/\/$/, "");
    switch (`${method} ${url.pathname}`) {
      case `GET /.well-known/oauth-authorization-server${path}`:
        return { json: this.metadata };
      case "POST /register":
        return this.#register(JSON.parse(body));
      case "GET /authorize":
        return this.#authorize(url.searchParams);
      case "POST /token":
        return this.token(form);
      case "POST /revoke":
        return { status: 200 };
      default:
        return { status: 404 };
    }
  }

  #register(asked: { readonly token_endpoint_auth_method?: string }): Reply {
    const secret = asked.token_endpoint_auth_method?.startsWith("client_secret")
      ? { client_secret: "given-secret" }
      : {};
    return { status: 201, json: { ...asked, client_id: `client-${new URL(this.issuer).host}`, ...secret } };
  }

  #authorize(asked: URLSearchParams): Reply {
    const code = this.#make("code");
    this.codes.set(code, asked);
    const back = new URL(asked.get("redirect_uri") ?? "");
    back.searchParams.set("code", code);
    back.searchParams.set("state", asked.get("state") ?? "");
    if (this.sendsIss) back.searchParams.set("iss", this.issuer);
    return { status: 302, headers: { location: back.href } };
  }

  token(form: URLSearchParams): Reply {
    const type = form.get("grant_type");
    const scope = form.get("scope");
    if (type === "refresh_token") {
      if (!this.refresh.delete(form.get("refresh_token") ?? ""))
        return { status: 400, json: { error: "invalid_grant" } };
      return this.issue(undefined);
    }
    if (type !== "authorization_code") return this.issue(scope ?? undefined);
    const asked = this.codes.get(form.get("code") ?? "");
    this.codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (asked?.get("code_challenge") !== challenge) return { status: 400, json: { error: "invalid_grant" } };
    return this.issue(asked.get("scope") ?? undefined);
  }

  issue(scope: string | undefined): Reply {
    const access = this.#make("token");
    this.live.add(access);
    const more = this.refreshes ? { refresh_token: this.#make("refresh") } : {};
    if (more.refresh_token !== undefined) this.refresh.add(more.refresh_token);
    return { json: { access_token: access, token_type: "Bearer", ...(scope && { scope }), ...more, ...this.extra } };
  }

  #make(kind: string): string {
    const made = `${kind}-${new URL(this.issuer).host}-${++this.#made}-0123456789abcdef`;
    this.issued.push(made);
    return made;
  }
}

function toRequest({ method, url, headers, body }: Arrival): Request {
  const passed = new Headers(headers);
  passed.set("host", url.host);
  return new Request(url, method === "POST" ? { method, headers: passed, body } : { method, headers: passed });
}

function write({ status = 200, headers = {}, json, text }: Reply, response: ServerResponse): void {
  const type = json === undefined ? {} : { "content-type": "application/json" };
  response.writeHead(status, { ...type, ...headers });
  response.end(json === undefined ? text : JSON.stringify(json));
}

async function pass(reply: Response, response: ServerResponse): Promise<void> {
  response.writeHead(reply.status, Object.fromEntries(reply.headers));
  response.flushHeaders();
  response.on("close", () => void reply.body?.cancel().catch(() => {}));
  try {
    for await (const chunk of reply.body ?? []) response.write(chunk);
  } catch {
    // The client has gone.
  }
  response.end();
}

/** The protected server, spoken to in each era. */
export const eachEra: readonly Wire<AuthWorld>[] = (["modern", "legacy"] as const).map((era) => ({
  name: `${era}-http`,
  open: (t) => AuthWorld.open(t, era),
}));

/** The protected server behind the transport of 2024-11-05. */
export const oldTransport: readonly Wire<AuthWorld>[] = [
  { name: "sse", open: (t) => AuthWorld.open(t, "legacy", OLD_PATH) },
];

/** Each era, and the old transport. */
export const everyTransport = [...eachEra, ...oldTransport];

/** Tells an `AuthError` of this step from everything else. */
export function failsAt(step: AuthStep, message?: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof AuthError && error.step === step && (message?.test(error.message) ?? true);
}
