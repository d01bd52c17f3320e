import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { oauth } from "bowline/auth/client";
import { connect } from "bowline/client";
import { toNodeListener } from "bowline/node";
import { McpServer } from "bowline/server";
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify } from "jose";
import { Provider } from "oidc-provider";
import { CALLBACK, type WorldOptions } from "./auth-world.js";
import { browseTo } from "./browse-to.js";

export interface Kind {
  /** Where the issuer is on its host. */
  readonly path: string;
  /** The provider's configuration; `resource` is the address of the MCP server. */
  configure(resource: string): Record<string, unknown>;
  /** The MCP server asks the provider about tokens, instead of looking for its own address in them. */
  readonly opaque?: boolean;
  /** What stands before the provider and is not as the provider would have it. */
  front?(request: IncomingMessage, response: ServerResponse, next: () => void): void | Promise<void>;
}

/** A request to the provider; its path is the one below the issuer's. */
interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
}

/** A real OpenID provider, set up as one kind of those that are in use, and an MCP server that takes its tokens. */
export class ProviderWorld {
  readonly asked: Asked[] = [];
  issuer = "";
  mcp = "";
  /** Access tokens that the MCP server takes no more, and those that it has seen. */
  readonly revoked = new Set<string>();
  readonly seen = new Set<string>();
  readonly #t: TestContext;

  private constructor(t: TestContext) {
    this.#t = t;
  }

  static async open(t: TestContext, kind: Kind): Promise<ProviderWorld> {
    // It says at length what it is not meant for.
    for (const method of ["info", "warn"] as const) t.mock.method(console, method, () => {});
    const world = new ProviderWorld(t);
    const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
    const about = { alg: "RS256", kid: "k", use: "sig" };
    const keys = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), ...about }] });
    const lazy: { provider?: RequestListener; server?: RequestListener } = {};
    const providerAt = await listen(t, (request, response) => lazy.provider?.(request, response));
    world.issuer = `${providerAt}${kind.path}`;
    const serverAt = await listen(t, (request, response) => lazy.server?.(request, response));
    world.mcp = `${serverAt}/mcp`;
    const provider = new Provider(world.issuer, {
      jwks: { keys: [{ ...(await exportJWK(privateKey)), ...about }] },
      cookies: { keys: ["cookie-key"] },
      ...kind.configure(world.mcp),
    });
    lazy.provider = world.#providerListener(kind, provider.callback());
    const isSigned = (token: string) =>
      jwtVerify(token, keys, { issuer: world.issuer, audience: world.mcp }).then(
        () => true,
        () => false,
      );
    const isKnown = async (token: string) => (await provider.AccessToken.find(token)) !== undefined;
    lazy.server = world.#serverListener(kind.opaque === true ? isKnown : isSigned);
    return world;
  }

  /** The MCP server takes none of the tokens any more that it has seen. */
  expireAll(): void {
    for (const token of this.seen) this.revoked.add(token);
  }

  count(method: string, path: string): number {
    return this.asked.filter((each) => each.method === method && each.path === path).length;
  }

  /** Trusts the provider alone. */
  oauth(options: WorldOptions = {}) {
    const { issuer } = this;
    return oauth({ issuer, redirectUrl: CALLBACK, authorize: browse, warnDeprecated: false, ...options });
  }

  /** Connects and calls a tool. */
  async visit(auth: ReturnType<typeof oauth>): Promise<string> {
    await using client = await connect(this.mcp, { ...auth, warnDeprecated: false });
    return (await client.callTool("echo", {})).text;
  }

  #providerListener({ path, front }: Kind, next: RequestListener): RequestListener {
    return (request: IncomingMessage & { originalUrl?: string }, response) => {
      const url = new URL(request.url ?? "/", this.issuer);
      const inside = `${url.pathname}/`.startsWith(`${path}/`);
      const below = inside ? url.pathname.slice(path.length) : url.pathname;
      this.asked.push({ method: request.method ?? "", path: below, query: url.searchParams });
      if (!inside) {
        response.writeHead(404).end();
        return;
      }
      request.originalUrl = request.url ?? "/";
      request.url = `${below}${url.search}`;
      if (front === undefined) next(request, response);
      else void front(request, response, () => next(request, response));
    };
  }

  #serverListener(isGood: (token: string) => Promise<boolean>): RequestListener {
    const server = new McpServer(
      { name: "guarded", version: "1" },
      { http: { allowedHosts: ["127.0.0.1"] }, warnDeprecated: false },
    ).tool("echo", {}, () => "echo");
    this.#t.after(() => server.close());
    const serve = toNodeListener(server);
    const metadata = new URL("/.well-known/oauth-protected-resource/mcp", this.mcp);
    return (request, response) => void this.#gate(request, response, metadata, isGood, serve);
  }

  async #gate(
    request: IncomingMessage,
    response: ServerResponse,
    metadata: URL,
    isGood: (token: string) => Promise<boolean>,
    serve: RequestListener,
  ): Promise<void> {
    if (request.url === metadata.pathname) {
      const json = { resource: this.mcp, authorization_servers: [this.issuer], scopes_supported: ["tools"] };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(json));
      return;
    }
    const token = request.headers.authorization?.replace(/^(?:Bearer|DPoP) /, "") ?? "";
    if (token !== "") this.seen.add(token);
    if (!this.revoked.has(token) && (await isGood(token))) return serve(request, response);
    const said = token === "" ? "" : ', error="invalid_token", error_description="not a token for this server"';
    const challenge = `Bearer resource_metadata="${metadata.href}"${said}`;
    response.writeHead(401, { "www-authenticate": challenge }).end();
  }
}

/** A user who logs in and agrees to everything, by the provider's own pages. */
export function browse(start: URL): Promise<URL> {
  return browseTo(start, CALLBACK);
}

async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const http = createServer(listener);
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(async () => {
    http.closeAllConnections();
    http.close();
    await once(http, "close");
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}
