import { connect } from "bowline/client";
import { createChannelPair, withFaults } from "bowline/testing";
import { createApp } from "../app.mjs";

/** Client and server in this process, connected by a channel that can be cut. */
export class MemoryWorld {
  #app;
  #channels = new WeakMap();

  constructor(env) {
    this.#app = createApp(env);
  }

  get server() {
    return this.#app.server;
  }

  async connect(options) {
    const [ours, theirs] = createChannelPair();
    await this.server.accept(theirs);
    const channel = withFaults(ours, {});
    const client = await connect({ channel }, options);
    this.#channels.set(client, channel);
    return client;
  }

  /** Returns the client's end of a channel that the server serves. Frames go to `onFrame`. */
  async openRaw(onFrame) {
    const [ours, theirs] = createChannelPair();
    await this.server.accept(theirs);
    await ours.open({ onFrame, onProblem() {}, onClose() {} });
    return { send: (message) => ours.send(JSON.stringify(message)), close: () => ours.close() };
  }

  async outage(_random, client) {
    this.#channels.get(client).cut();
  }

  stats() {
    return this.server.stats();
  }

  async rest() {}

  close() {
    return this.server.close();
  }
}
