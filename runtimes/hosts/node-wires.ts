import { fileURLToPath } from "node:url";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import type { Open } from "../suite.js";

/** HTTP server and processes of Node, for Node and compatible runtimes. */
export const nodeWires = (command: string, ...flags: string[]): Record<string, Open> => ({
  "node:http": async (server, options) => {
    const running = await serveHttp(server);
    return { client: await connect(running.url, options), close: () => running.close() };
  },
  stdio: async (_server, options) => {
    const program = fileURLToPath(new URL("stdio-server.js", import.meta.url));
    return { client: await connect({ command, args: [...flags, program] }, options) };
  },
});
