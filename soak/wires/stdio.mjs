import { fileURLToPath } from "node:url";
import { connect } from "bowline/client";

const HOST = fileURLToPath(new URL("../hosts/stdio.mjs", import.meta.url));

/**
 * Server in its own process. The permanent one is never killed. The `mortal` one is killed by SIGKILL, and its client
 * starts it again.
 */
export class StdioWorld {
  #env;
  #mortal;

  constructor(env, { mortal }) {
    this.#env = env;
    this.#mortal = mortal;
  }

  connect(options) {
    const target = {
      command: process.execPath,
      args: ["--expose-gc", HOST],
      stderr: (line) => this.#env.onStderr(line),
      restart: this.#mortal ? { attempts: 10, delayMs: 1 } : false,
    };
    return connect(target, options);
  }

  async outage(_random, client) {
    const { pid } = (await client.callTool("pid")).structured;
    process.kill(pid, "SIGKILL");
  }

  async stats(client) {
    return (await client.callTool("stats")).structured;
  }

  async census(client) {
    return this.#mortal ? undefined : (await client.callTool("census")).structured;
  }

  async rest() {}

  async close() {}
}
