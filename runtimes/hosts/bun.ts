import { connect } from "bowline/client";
import { type Open, runSuite } from "../suite.js";
import { checkConsole } from "./console.js";
import { nodeWires } from "./node-wires.js";

interface Options {
  readonly hostname: string;
  readonly port: number;
  readonly idleTimeout: number;
  fetch(request: Request): Promise<Response>;
}

declare const Bun: { serve(options: Options): { readonly port: number; stop(now: boolean): Promise<void> } };

/** Serves with Bun's own server. */
const http: Open = async (server, options) => {
  const running = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: server.fetch });
  const client = await connect(`http://127.0.0.1:${running.port}/mcp`, options);
  return { client, close: () => running.stop(true) };
};

const outcomes = await runSuite({ http, ...nodeWires(process.execPath) });
console.log(JSON.stringify([...outcomes, await checkConsole(process.execPath)]));
