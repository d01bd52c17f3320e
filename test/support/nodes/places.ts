import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Balancer, startBalancer } from "./nginx.js";

/** Address of nginx whose requests go to two nodes in turn. */
export interface Balanced {
  readonly origin: string;
  /** Closes all connections and makes the address free for another pair of nodes. */
  release(): void;
}

/** Addresses of one nginx. Starting it for each test takes too long. */
const PLACES = 8;

/** Number of requests that each of the two nodes got. */
export const served = [0, 0];

const free: Place[] = [];
const places = new Set<Place>();
const running = new Set<Balancer>();

/** Puts two nodes behind nginx. Starts nginx if no address is free. */
export async function balance(nodes: readonly RequestListener[]): Promise<Balanced> {
  if (free.length === 0) await openPlaces();
  const place = free.pop() as Place;
  place.listeners = nodes;
  return {
    origin: `http://127.0.0.1:${place.port}`,
    release() {
      place.listeners = [];
      for (const server of place.servers) server.closeAllConnections();
      free.push(place);
    },
  };
}

/** Ends all that `balance` started. */
export async function endPlaces(): Promise<void> {
  for (const server of [...places].flatMap(({ servers }) => servers)) {
    server.close();
    server.closeAllConnections();
  }
  for (const nginx of running) await nginx.end();
}

/** Port of nginx with the two nodes behind it. */
class Place {
  listeners: readonly RequestListener[] = [];
  readonly servers: readonly Server[] = [0, 1].map((node) =>
    createServer((req, res) => {
      served[node] = (served[node] ?? 0) + 1;
      const listener = this.listeners[node];
      if (listener === undefined) req.socket.destroy();
      else listener(req, res);
    }),
  );
  port = 0;

  async listen(): Promise<readonly number[]> {
    for (const server of this.servers) await once(server.listen(0, "127.0.0.1"), "listening");
    return this.servers.map((server) => (server.address() as AddressInfo).port);
  }
}

async function openPlaces(): Promise<void> {
  const opened = Array.from({ length: PLACES }, () => new Place());
  const nginx = await startBalancer(await Promise.all(opened.map((place) => place.listen())));
  running.add(nginx);
  for (const [index, place] of opened.entries()) {
    place.port = nginx.ports[index] ?? 0;
    places.add(place);
    free.push(place);
  }
}
