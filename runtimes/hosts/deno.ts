import { connect } from "bowline/client";
import { type Open, runSuite } from "../suite.js";
import { checkConsole } from "./console.js";
import { nodeWires } from "./node-wires.js";

interface Options {
  readonly hostname: string;
  readonly port: number;
  onListen(): void;
}

interface Running {
  readonly addr: { readonly port: number };
  shutdown(): Promise<void>;
}

declare const Deno: { serve(options: Options, handler: (request: Request) => Promise<Response>): Running };

/** Serves with Deno's own server. */
const http: Open = async (server, options) => {
  const running = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, server.fetch);
  const client = await connect(`http://127.0.0.1:${running.addr.port}/mcp`, options);
  return { client, close: () => running.shutdown() };
};

const outcomes = await runSuite({ http, ...nodeWires(process.execPath, "run", "--allow-all") });
console.log(JSON.stringify([...outcomes, await checkConsole(process.execPath, "run", "--allow-all")]));
