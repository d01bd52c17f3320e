import type { Agent, AgentOptions } from "node:http";

/** Options of the connection to a server. */
interface Connection {
  readonly host: string;
  readonly port: number;
  /** Empty if the host is an IP address. */
  readonly servername: string;
  readonly signal?: AbortSignal;
}

/** Maximum time for a proxy to open a tunnel. */
const TUNNEL_MS = 30_000;
/** Time for which an idle connection without a tunnel is kept, as by the agent of Node. */
const IDLE_MS = 5_000;

/** Connections through proxies. Idle ones are kept for later requests to the same server. */
export class ProxyAgents {
  readonly #maxIdle: number;
  readonly #agents = new Map<string, Promise<Agent>>();
  #isKept = true;

  /** With `maxIdle`, as many idle connections to a server are kept. */
  constructor(maxIdle: number) {
    this.#maxIdle = maxIdle;
  }

  /** Sets whether idle connections are kept. Without that, they close now, and others as soon as they are idle. */
  keepIdle(isKept: boolean): void {
    this.#isKept = isKept;
    for (const created of this.#agents.values()) created.then((agent) => this.#limit(agent), ignore);
  }

  /** Returns the agent for requests with a scheme. For https, the proxy opens a tunnel for each connection. */
  agentFor(proxy: URL, scheme: string): Promise<Agent> {
    const key = `${scheme} ${proxy.href}`;
    const known = this.#agents.get(key) ?? this.#create(proxy, scheme);
    this.#agents.set(key, known);
    return known;
  }

  async #create(proxy: URL, scheme: string): Promise<Agent> {
    const agent = scheme === "https:" ? await createTunnels(proxy) : await createAgent(proxy, { timeout: IDLE_MS });
    this.#limit(agent);
    return agent;
  }

  #limit(agent: Agent): void {
    agent.maxFreeSockets = this.#isKept ? this.#maxIdle : 0;
    if (this.#isKept) return;
    for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
  }
}

/** Returns the headers with which a proxy lets a request pass. */
export function proxyHeaders({ username, password }: URL): Record<string, string> {
  if (username === "" && password === "") return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(credentials).toString("base64")}` };
}

async function createAgent({ protocol }: URL, options: AgentOptions): Promise<Agent> {
  const { Agent } = await (protocol === "https:" ? import("node:https") : import("node:http"));
  return new Agent({ keepAlive: true, ...options });
}

async function createTunnels(proxy: URL): Promise<Agent> {
  const { Agent } = await import("node:https");
  const { connect } = await import("node:tls");
  const { request } = await (proxy.protocol === "https:" ? import("node:https") : import("node:http"));
  const open: Agent["createConnection"] = (options, done = () => {}) => {
    const { host, port, servername, signal } = options as Connection;
    const path = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    const headers = { host: path, ...proxyHeaders(proxy) };
    const asked = request(proxy.origin, { method: "CONNECT", path, headers, agent: false, ...(signal && { signal }) });
    const fail = (error: Error) => done(error, undefined as never);
    asked.setTimeout(TUNNEL_MS, () => asked.destroy(noTunnel(proxy, `no response within ${TUNNEL_MS} ms`)));
    asked.on("error", fail);
    asked.once("connect", ({ statusCode }, socket) => {
      socket.setTimeout(0);
      if (statusCode === 200) return done(null, connect({ socket, host, servername, ALPNProtocols: ["http/1.1"] }));
      socket.destroy();
      fail(noTunnel(proxy, `HTTP status ${statusCode}`));
    });
    asked.end();
    return undefined as never;
  };
  return Object.assign(new Agent({ keepAlive: true }), { createConnection: open });
}

/**
 * Creates the error of a tunnel that was not opened. `syscall` marks it as a failure to connect: no data has reached
 * the server.
 */
function noTunnel({ host }: URL, why: string): Error {
  const error = new Error(`the proxy ${host} did not open a connection to the server: ${why}`);
  return Object.assign(error, { code: "ERR_PROXY", syscall: "connect" });
}

function ignore(): void {}
