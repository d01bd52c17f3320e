import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import type { TestContext } from "node:test";

/** The key and certificate of `mcp.example`, which a client trusts by `NODE_EXTRA_CA_CERTS`. For tests alone. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgLdbw0UtvX6CHItsO
MRSteTBOvHkUuNeWBQTbn3+RyfqhRANCAAQFvlNavLszrUqd4baLCJ2tMS7MiqC3
jsdDx2FVQ2b6C9CHkDfn8KDqTXH2imSlEkGcB/W9HCgMzu1AjCmu2BUt
-----END PRIVATE KEY-----
`;
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBZzCCAQ2gAwIBAgIBATAKBggqhkjOPQQDAjAWMRQwEgYDVQQDDAttY3AuZXhh
bXBsZTAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFjEUMBIGA1UE
AwwLbWNwLmV4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQFvlNavLsz
rUqd4baLCJ2tMS7MiqC3jsdDx2FVQ2b6C9CHkDfn8KDqTXH2imSlEkGcB/W9HCgM
zu1AjCmu2BUto0owSDAPBgNVHRMBAf8EBTADAQH/MBYGA1UdEQQPMA2CC21jcC5l
eGFtcGxlMB0GA1UdDgQWBBSVh29+UrN8PS4EiCCNJJt9iScYjjAKBggqhkjOPQQD
AgNIADBFAiEAvXvF17TJT5AjirYHFid2KdXQfOA5OgJ+XLXhXZd+oesCIB+AocHz
bgl6wQlAyrxQSctByff2hWwmSOwkFXdnlJCY
-----END CERTIFICATE-----
`;

export interface ForwardProxy {
  readonly port: number;
  /** What it was asked for, as it stood in the request line, with the credentials for the proxy. */
  readonly asked: { readonly line: string; readonly credentials: string | undefined }[];
  /** Opens no tunnel, but answers so. */
  refuseTunnels: string | undefined;
}

/**
 * A proxy on this machine. Whatever host it is asked for, `serve` answers: over http as it is, and over https behind the
 * certificate of `mcp.example`.
 */
export async function openForwardProxy(t: TestContext, serve: RequestListener): Promise<ForwardProxy> {
  const hidden = await listen(t, createTlsServer({ key: KEY, cert: CERTIFICATE }, serve));
  const asked: { line: string; credentials: string | undefined }[] = [];
  const server = createServer((request, response) => {
    asked.push({ line: `${request.method} ${request.url}`, credentials: request.headers["proxy-authorization"] });
    const { pathname, search } = new URL(request.url ?? "");
    request.url = `${pathname}${search}`;
    serve(request, response);
  });
  server.on("connect", (request, socket) => {
    asked.push({ line: `CONNECT ${request.url}`, credentials: request.headers["proxy-authorization"] });
    if (proxy.refuseTunnels !== undefined) {
      socket.end(`HTTP/1.1 ${proxy.refuseTunnels}\r\n\r\n`);
      return;
    }
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    const tunnel = connect(hidden, "127.0.0.1");
    for (const [from, to] of [
      [socket, tunnel],
      [tunnel, socket],
    ] as const) {
      from.on("error", () => to.destroy());
      from.pipe(to);
    }
  });
  const proxy: ForwardProxy = { port: await listen(t, server), asked, refuseTunnels: undefined };
  return proxy;
}

async function listen(t: TestContext, server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
