import { connect } from "bowline/client";
import { createHarbour } from "../harbour.js";
import { type Harbour, type Open, runSuite } from "../suite.js";

/** Made while the module is loaded, as in any worker: there is no randomness, time or input and output then. */
const made = [createHarbour(), createHarbour()];
/** Servers that are listened for, by their path: a worker has one address. */
const servers = new Map<string, Harbour>();

/** The worker fetches from itself, through the network: the client in one request, the server in others. */
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
