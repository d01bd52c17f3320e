import { subscribe } from "node:diagnostics_channel";
import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Counts things that close, and tells when there are no more than so many. */
export class Counter {
  #count = 0;
  readonly #waiting: { readonly most: number; resolve(): void }[] = [];

  get count(): number {
    return this.#count;
  }

  add(): void {
    this.#count++;
  }

  readonly remove = (): void => {
    this.#count--;
    for (const waiter of this.#waiting.splice(0)) {
      if (this.#count <= waiter.most) waiter.resolve();
      else this.#waiting.push(waiter);
    }
  };

  /** Resolves with the very event that leaves no more than so many. */
  down(most: number): Promise<void> {
    return this.#count <= most ? Promise.resolve() : new Promise((resolve) => this.#waiting.push({ most, resolve }));
  }
}

/** Every TCP socket of this process, of either side, from its creation until its `close`. */
export const openSockets = new Counter();

const count = (message: unknown) => {
  openSockets.add();
  (message as { readonly socket: Socket }).socket.once("close", openSockets.remove);
};
subscribe("net.client.socket", count);
subscribe("net.server.socket", count);

/** The responses of a server that are not over. */
export function openResponses(server: Server): Counter {
  const responses = new Counter();
  server.on("request", (_, response) => {
    responses.add();
    response.once("close", responses.remove);
  });
  return responses;
}
