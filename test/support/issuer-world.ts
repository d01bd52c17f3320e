import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import {
  createIssuer,
  type Issuer,
  type IssuerOptions,
  type IssuerStore,
  memoryIssuerStore,
} from "bowline/auth/issuer";
import { protect } from "bowline/auth/server";
import { toNodeListener } from "bowline/node";

export const ISSUER = "https://as.example";
export const RESOURCE = "https://mcp.example/mcp";
export const CALLBACK = "https://app.example/cb";
export const LOCAL_CALLBACK = "http://127.0.0.1:9/cb";
/** Known in advance, public, trusted. */
export const CLIENT = "known-app";

type Fields = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface TokenAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Record<string, unknown>;
}

/** Parameters of a form or query; undefined ones are left out. */
export function toParams(fields: Fields): URLSearchParams {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const item of typeof value === "string" ? [value] : (value ?? [])) params.append(name, item);
  }
  return params;
}

/** An issuer behind a listener on this machine, whatever address it says it has. */
export class IssuerWorld {
  /** Who is logged in, in all browsers; nobody if undefined. */
  user: { id: string; name?: string } | undefined = { id: "ada", name: "Ada Lovelace" };
  /** Milliseconds that were skipped. */
  skippedMs = 0;
  readonly errors: unknown[] = [];
  readonly issuer: Issuer;
  readonly origin: string;
  readonly #base: string;

  private constructor(base: string, options: Partial<IssuerOptions>) {
    this.#base = base;
    const login = () => this.user ?? new Response("please log in", { status: 401 });
    this.issuer = createIssuer({
      issuer: ISSUER,
      resources: [RESOURCE],
      ...(options.upstream === undefined ? { user: login } : {}),
      scopes: { "notes:read": "Read your notes", "notes:write": "Write notes in your name" },
      clients: [{ clientId: CLIENT, name: "Known App", redirectUris: [CALLBACK] }],
      now: () => Date.now() + this.skippedMs,
      onError: (error) => this.errors.push(error),
      ...options,
    });
    this.origin = new URL(this.issuer.issuer).origin;
  }

  static async open(t: TestContext, options: Partial<IssuerOptions> = {}): Promise<IssuerWorld> {
    let world: IssuerWorld | undefined;
    const http = createServer((request, response) => {
      if (world !== undefined) toNodeListener(world.issuer)(request, response);
    });
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    t.after(async () => {
      http.closeAllConnections();
      http.close();
      await once(http, "close");
    });
    world = new IssuerWorld(`http://127.0.0.1:${(http.address() as AddressInfo).port}`, options);
    return world;
  }

  /** One request, to a path or an address of the issuer. Redirects are not followed. */
  fetch(target: string | URL, init: RequestInit = {}): Promise<Response> {
    const url = new URL(target, this.issuer.issuer.replace(/\/?$/, "/"));
    return fetch(`${this.#base}${url.pathname}${url.search}`, { redirect: "manual", ...init });
  }

  post(path: string, fields: Fields, headers: Record<string, string> = {}): Promise<Response> {
    return this.fetch(path, { method: "POST", body: toParams(fields), headers });
  }

  async token(fields: Fields, headers: Record<string, string> = {}): Promise<TokenAnswer> {
    return await read(await this.post("token", fields, headers));
  }

  /** Registers a client: public, with a callback, unless told otherwise. */
  async register(metadata: Readonly<Record<string, unknown>> = {}): Promise<TokenAnswer & { readonly id: string }> {
    const body = {
      client_name: "Stranger",
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      ...metadata,
    };
    const answer = await read(await this.fetch("register", { method: "POST", body: JSON.stringify(body) }));
    return { ...answer, id: String(answer.json.client_id) };
  }

  browser(): Browser {
    return new Browser(this);
  }

  /** A code, by a user who approves. */
  async code(fields: Fields = {}, browser = this.browser()): Promise<Pkce & { readonly code: string }> {
    const pkce = createPkce();
    const response = await browser.approve({ code_challenge: pkce.challenge, ...fields });
    return { ...pkce, code: answerOf(response).get("code") ?? "" };
  }

  /** Redeems a code as the client that is known in advance, unless told otherwise. */
  redeem(code: { readonly code: string; readonly verifier: string }, fields: Fields = {}): Promise<TokenAnswer> {
    return this.token({
      grant_type: "authorization_code",
      client_id: CLIENT,
      code: code.code,
      code_verifier: code.verifier,
      redirect_uri: CALLBACK,
      ...fields,
    });
  }

  async tokens(): Promise<{ readonly access: string; readonly refresh: string }> {
    const { json } = await this.redeem(await this.code());
    return { access: String(json.access_token), refresh: String(json.refresh_token) };
  }

  /** Whether a server with this resource lets the token in. */
  async admits(token: unknown, resource = RESOURCE): Promise<boolean> {
    const gate = protect({
      resource,
      authorizationServers: [this.issuer.issuer],
      verify: this.issuer.verify,
      now: () => Date.now() + this.skippedMs,
    });
    const verdict = await gate.check(new Request(resource, { headers: { authorization: `Bearer ${String(token)}` } }));
    if (!(verdict instanceof Response)) return true;
    if (verdict.status !== 401) throw new Error(`the gate answered with status ${verdict.status}`);
    return false;
  }

  refresh(token: string, fields: Fields = {}): Promise<TokenAnswer> {
    return this.token({ grant_type: "refresh_token", client_id: CLIENT, refresh_token: token, ...fields });
  }
}

/** A browser: it has cookies, and does without scripts. */
export class Browser {
  readonly cookies = new Map<string, string>();
  /** The Set-Cookie lines that have come. */
  readonly set: string[] = [];
  readonly #world: IssuerWorld;

  constructor(world: IssuerWorld) {
    this.#world = world;
  }

  async fetch(target: string | URL, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    if (cookie !== "") headers.set("cookie", cookie);
    const response = await this.#world.fetch(target, { ...init, headers });
    for (const line of response.headers.getSetCookie()) {
      this.set.push(line);
      const [pair = ""] = line.split(";");
      const name = pair.slice(0, pair.indexOf("="));
      if (line.endsWith("; Max-Age=0")) this.cookies.delete(name);
      else this.cookies.set(name, pair.slice(pair.indexOf("=") + 1));
    }
    return response;
  }

  /** Asks for authorization: a request that is in order, but for the fields given. */
  authorize(fields: Fields = {}): Promise<Response> {
    return this.fetch(`authorize?${toParams({ ...inOrder(), ...fields })}`);
  }

  /** Presses a button of a consent page. */
  async press(page: Response, decision = "approve", changes: Fields = {}): Promise<Response> {
    const text = await page.text();
    const action = /<form method="post" action="([^"]+)">/.exec(text)?.[1];
    const ask = /name="ask" value="([^"]+)"/.exec(text)?.[1];
    if (action === undefined || ask === undefined) throw new Error(`no consent page: ${page.status} ${text}`);
    const body = toParams({ ask, decision, ...changes });
    return await this.fetch(action, { method: "POST", body, headers: { origin: this.#world.origin } });
  }

  /** Asks, and approves if there is a page. */
  async approve(fields: Fields = {}): Promise<Response> {
    const response = await this.authorize(fields);
    return response.status === 200 ? await this.press(response) : response;
  }
}

export interface Pkce {
  readonly verifier: string;
  readonly challenge: string;
}

export function createPkce(): Pkce {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

export function inOrder(): Record<string, string> {
  return {
    response_type: "code",
    client_id: CLIENT,
    redirect_uri: CALLBACK,
    code_challenge: createPkce().challenge,
    code_challenge_method: "S256",
    state: "xyz",
    scope: "notes:read",
    resource: RESOURCE,
  };
}

/** The parameters of a redirect back to a client. */
export function answerOf(response: Response): URLSearchParams {
  const location = response.headers.get("location");
  if (location === null) throw new Error(`no redirect: ${response.status}`);
  return new URL(location).searchParams;
}

export async function read(response: Response): Promise<TokenAnswer> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: text === "" ? {} : JSON.parse(text) };
}

/** A store on which all that arrives together is under way together: each answer takes turns of the event loop. */
export function slowStore(): IssuerStore {
  const store = memoryIssuerStore();
  const later = () => new Promise((resolve) => setImmediate(resolve));
  const slowly =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A) => {
      for (let turns = 0; turns < 10; turns++) await later();
      const result = await work(...args);
      for (let turns = 0; turns < 10; turns++) await later();
      return result;
    };
  return { get: slowly(store.get), put: slowly(store.put), add: slowly(store.add), delete: slowly(store.delete) };
}
