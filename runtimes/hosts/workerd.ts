import { connect } from "bowline/client";
import { createHarbour, type Harbour } from "../harbour.js";
import { type Open, runSuite } from "../suite.js";

/** Created while the module is loaded, as in any worker. Randomness, time and I/O are not available then. */
const made = [createHarbour(), createHarbour()];
/** Running servers by path, since a worker has one address. */
const servers = new Map<string, Harbour>();

/** Connects to the worker itself over the network: the client runs in one request, the server in others. */
function httpAt(origin: string): Open {
  return async (_server, options) => {
    const server = made.pop() as Harbour;
    const path = `/mcp/${crypto.randomUUID()}`;
    servers.set(path, server);
    return { client: await connect(`${origin}${path}`, options), close: () => server.close() };
  };
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, origin } = new URL(request.url);
    const server = servers.get(pathname);
    if (server !== undefined) return server.fetch(request);
    return Response.json(await runSuite({ http: httpAt(origin) }));
  },
};
