import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createIssuer, type Issuer } from "bowline/auth/issuer";
import { protect } from "bowline/auth/server";
import { toNodeListener } from "bowline/node";
import type { HttpGate } from "bowline/server";
import { createHarbour, type Harbour } from "../harbour.js";

/** A file that a page loads: its path, its type and its content. */
export interface PageFile {
  readonly type: string;
  readonly content: string | Uint8Array;
}

/** A page: its files by path. The hashes are those of its inline scripts. */
export interface Page {
  readonly files: ReadonlyMap<string, PageFile>;
  readonly hashes?: readonly string[];
  /** Host name of the page, which leads to this machine. */
  readonly hostname?: string;
  /** True if the page is sandboxed, so that its origin is "null". */
  readonly isSandboxed?: boolean;
}

/**
 * Serves a page under a strict Content-Security-Policy, and servers of the suite at another origin. The page may load
 * its own scripts and connect to that origin, and nothing else.
 */
export async function servePage({ files, hashes = [], hostname = "127.0.0.1", isSandboxed = false }: Page) {
  let issuer: Issuer | undefined;
  const open = new Map<string, { readonly harbour: Harbour; readonly listener: RequestListener }>();
  const servers = await listen((request, response) => {
    const path = request.url ?? "/";
    const found = open.get(path.replace("closed", "mcp"));
    // A server that does not know CORS.
    if (path.startsWith("/closed")) delete request.headers.origin;
    if (found !== undefined) found.listener(request, response);
    else if (issuer?.owns(path.split("?", 1)[0] as string) === true) toNodeListener(issuer)(request, response);
    else {
      const location = path.replace("moved", "mcp");
      const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
      if (request.method === "OPTIONS") response.writeHead(204, cors).end();
      else response.writeHead(open.has(location) ? 307 : 404, { ...cors, location }).end();
    }
  });
  const scripts = ["'self'", ...hashes.map((hash) => `'sha256-${hash}'`)].join(" ");
  const sandbox = isSandboxed ? "; sandbox allow-scripts" : "";
  const policy = `default-src 'none'; script-src ${scripts}; connect-src ${servers.origin}${sandbox}`;
  // To a sandboxed page, its own scripts are of another origin.
  const cors = isSandboxed ? { "access-control-allow-origin": "null" } : {};
  const pages = await listen(({ url = "/" }, response) => {
    const file = files.get(url.replace(/\?.*/, ""));
    if (file === undefined) response.writeHead(404).end();
    else {
      const headers = { "content-type": file.type, "content-security-policy": policy, ...cors };
      response.writeHead(200, headers).end(file.content);
    }
  });
  const url = pages.origin.replace("127.0.0.1", hostname);
  const origin = isSandboxed ? "null" : url;
  const serve = (path: string, gate?: HttpGate) => {
    const http = { cors: true, allowedOrigins: [origin], ...(gate !== undefined && { gate }) };
    const harbour = createHarbour({ http });
    open.set(path, { harbour, listener: toNodeListener(harbour) });
    return `${servers.origin}${path}`;
  };
  return {
    url: `${url}/`,
    origin,
    openHarbour: () => serve(`/mcp/${crypto.randomUUID()}`),
    /** The authorization server is at the same origin. It asks no user. */
    openProtected() {
      const path = `/mcp/${crypto.randomUUID()}`;
      const resource = `${servers.origin}${path}`;
      const made = { issuer: servers.origin, resources: [resource], user: () => ({ id: "ada" }), approve: () => true };
      issuer = createIssuer(made);
      return serve(path, protect({ resource, authorizationServers: [servers.origin], verify: issuer.verify }));
    },
    async closeHarbour(url: string) {
      const { pathname } = new URL(url);
      const harbour = open.get(pathname)?.harbour;
      // The page gives up if this takes too long.
      while (harbour !== undefined && holds(harbour)) await new Promise((resolve) => setTimeout(resolve, 5));
      await harbour?.close();
      open.delete(pathname);
    },
    close: async () => void (await Promise.all([pages.close(), servers.close()])),
  };
}

/** True while the server holds a call, a stream, a session or a subscription. */
function holds(harbour: Harbour): boolean {
  const { refused: _, ...held } = harbour.stats();
  return Object.values(held).some((count) => count > 0);
}

async function listen(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    const closed = once(server, "close");
    server.close();
    await closed;
  };
  return { origin: `http://127.0.0.1:${port}`, close };
}
