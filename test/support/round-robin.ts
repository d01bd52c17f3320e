import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Request that passed a {@link RoundRobin}. */
export interface PassedRequest {
  readonly method: string;
  readonly lastEventId: string | undefined;
  readonly node: number;
  status: number | undefined;
  isOpen: boolean;
  /** Closes the connection of the client. The node does not learn of it, as with a lost network. */
  loseInSilence(): void;
  /** Closes the connections of both sides. */
  cut(): void;
}

/** Proxy that sends each request to the next node, and knows all of them. */
export class RoundRobin {
  readonly passed: PassedRequest[] = [];
  readonly #server: Server;
  readonly #ports: readonly number[];
  readonly #upstream = new Set<{ destroy(): void }>();
  #next = 0;

  private constructor(ports: readonly number[]) {
    this.#ports = ports;
    this.#server = createServer((incoming, outgoing) => this.#pass(incoming, outgoing));
  }

  static async open(ports: readonly number[]): Promise<RoundRobin> {
    const proxy = new RoundRobin(ports);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  /** All GETs so far. */
  get gets(): readonly PassedRequest[] {
    return this.passed.filter(({ method }) => method === "GET");
  }

  get openGets(): readonly PassedRequest[] {
    return this.gets.filter(({ isOpen, status }) => isOpen && status === 200);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    for (const sent of this.#upstream) sent.destroy();
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const node = this.#next++ % this.#ports.length;
    const { method = "", url = "/", headers } = incoming;
    const sent = request({ host: "127.0.0.1", port: this.#ports[node], method, path: url, headers, agent: false });
    let isSilent = false;
    this.#upstream.add(sent);
    const passed: PassedRequest = {
      method,
      lastEventId: headers["last-event-id"] as string | undefined,
      node,
      status: undefined,
      isOpen: true,
      loseInSilence() {
        isSilent = true;
        outgoing.destroy();
      },
      cut() {
        outgoing.destroy();
        sent.destroy();
      },
    };
    this.passed.push(passed);
    sent.on("response", (response) => {
      passed.status = response.statusCode;
      if (!outgoing.destroyed) outgoing.writeHead(response.statusCode ?? 502, response.headers).flushHeaders();
      response.on("data", (chunk: Buffer) => void (outgoing.destroyed || outgoing.write(chunk)));
      response.on("end", () => outgoing.end());
      response.on("error", () => outgoing.destroy());
    });
    sent.on("error", () => outgoing.destroy());
    sent.on("close", () => this.#upstream.delete(sent));
    outgoing.on("close", () => {
      passed.isOpen = false;
      if (!isSilent) sent.destroy();
    });
    incoming.pipe(sent);
  }
}
