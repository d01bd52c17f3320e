import { once } from "node:events";
import { connect, createServer } from "node:net";

/** Maximum time that a cut waits for its byte. */
const PATIENCE_MS = 300;

/** Relay between clients and a server on 127.0.0.1. It passes bytes on and cuts connections at a chosen byte. */
export class Relay {
  #listener;
  #target;
  #pairs = new Set();
  #cut;

  static async open(target) {
    const relay = new Relay();
    relay.#target = target;
    relay.#listener = createServer({ allowHalfOpen: true }, (near) => relay.#accept(near));
    relay.#listener.listen(0, "127.0.0.1");
    await once(relay.#listener, "listening");
    return relay;
  }

  get port() {
    return this.#listener.address().port;
  }

  /**
   * Cuts a connection after this many more bytes, or after a moment: the one that carries the last of them, or all.
   * With `reset`, both ends get an RST, else a FIN.
   */
  cutAfter(bytes, { all, reset }) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#now(), PATIENCE_MS);
      this.#cut = { left: bytes, all, reset, timer, resolve };
    });
  }

  async close() {
    for (const pair of this.#pairs) this.#end(pair, false);
    this.#listener.close();
    await once(this.#listener, "close");
  }

  #accept(near) {
    const far = connect({ port: this.#target, host: "127.0.0.1", allowHalfOpen: true });
    const pair = [near, far];
    this.#pairs.add(pair);
    this.#join(pair, near, far);
    this.#join(pair, far, near);
  }

  #join(pair, from, to) {
    from.on("data", (chunk) => this.#pass(pair, from, to, chunk));
    from.on("end", () => to.end());
    from.on("error", () => this.#end(pair, true));
    from.on("close", () => {
      to.destroySoon();
      if (to.destroyed) this.#pairs.delete(pair);
    });
  }

  #pass(pair, from, to, chunk) {
    const cut = this.#cut;
    if (cut === undefined || chunk.length < cut.left) {
      if (cut !== undefined) cut.left -= chunk.length;
      if (to.write(chunk)) return;
      from.pause();
      to.once("drain", () => from.resume());
      return;
    }
    from.pause();
    to.write(chunk.subarray(0, cut.left), () => this.#now(pair));
    cut.left = Number.POSITIVE_INFINITY;
  }

  #now(pair) {
    const cut = this.#cut;
    if (cut === undefined) return;
    this.#cut = undefined;
    clearTimeout(cut.timer);
    const cuts = cut.all || pair === undefined ? [...this.#pairs] : [pair];
    for (const one of cuts) this.#end(one, cut.reset);
    cut.resolve(cuts.length);
  }

  #end(pair, reset) {
    this.#pairs.delete(pair);
    for (const socket of pair) {
      // Node cannot reset a connection whose end it has begun to send.
      if (reset && !socket.destroyed && !socket.connecting && !socket.writableEnded) socket.resetAndDestroy();
      else socket.destroy();
    }
  }
}
