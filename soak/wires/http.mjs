import { Agent, request } from "node:http";
import { connect as connectSocket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { createApp } from "../app.mjs";
import { Relay } from "../relay.mjs";
import { RAW_HEADERS } from "./fetch.mjs";

/** Header that names the caller. */
export const PRINCIPAL = "x-soak-principal";
const gate = (exchange) => ({ principal: exchange.header(PRINCIPAL) });

/**
 * Server on 127.0.0.1. The permanent one is reached through a relay whose connections are cut. The `mortal` one is
 * closed and started again on its port.
 */
export class HttpWorld {
  #env;
  #options;
  #running;
  #app;
  #relay;
  #sockets = new Set();
  #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  /** `path` is the path that clients use. `http` has options of the server. */
  constructor(env, options) {
    this.#env = env;
    this.#options = options;
  }

  static async open(env, options) {
    const world = new HttpWorld(env, options);
    await world.#start(0);
    if (!options.mortal) world.#relay = await Relay.open(world.#running.port);
    return world;
  }

  get server() {
    return this.#app.server;
  }

  /** Port of the server itself, without the relay. */
  get port() {
    return this.#running.port;
  }

  get path() {
    return this.#options.path;
  }

  connect(options, { direct = false } = {}) {
    const port = direct || this.#relay === undefined ? this.port : this.#relay.port;
    return connect(`http://127.0.0.1:${port}${this.path}`, options);
  }

  /** Sends one message without a client. */
  async post(message, headers) {
    return this.#send("POST", headers, JSON.stringify(message));
  }

  async delete(headers) {
    return this.#send("DELETE", headers);
  }

  /** Opens a plain connection on which a request may be begun and left incomplete. */
  openSocket() {
    return connectSocket(this.port, "127.0.0.1");
  }

  async outage(random) {
    if (this.#relay === undefined) return this.#restart(random.below(80));
    await this.#relay.cutAfter(random.below(8_000), { all: random.chance(0.3), reset: random.chance(0.5) });
  }

  stats() {
    return this.server.stats();
  }

  /** Closes idle connections. */
  async rest() {
    this.#agent.destroy();
    this.#agent = new Agent({ keepAlive: true, maxSockets: 64 });
    this.#running.server.closeIdleConnections();
    // A connection that a client opened for an aborted call counts as idle only after its first request.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
  }

  async close() {
    this.#agent.destroy();
    await this.#running.close();
    await this.#relay?.close();
  }

  async #start(port) {
    this.#app = createApp({ ...this.#env, http: { ...this.#options.http, gate } });
    this.#running = await serveHttp(this.server, { port });
    this.#sockets.clear();
    this.#running.server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  async #restart(downMs) {
    const { port } = this.#running;
    await this.#running.close();
    await delay(downMs);
    await this.#start(port);
  }

  #send(method, headers, body) {
    return new Promise((resolve, reject) => {
      const options = { method, host: "127.0.0.1", port: this.port, path: this.path, agent: this.#agent };
      const sent = request({ ...options, headers: { ...RAW_HEADERS, ...headers } }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece) => {
          text += piece;
        });
        response.on("error", reject);
        response.on("end", () =>
          resolve({ status: response.statusCode, header: (name) => response.headers[name] ?? null, text }),
        );
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }
}
