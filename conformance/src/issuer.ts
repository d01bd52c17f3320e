import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createIssuer } from "bowline/auth/issuer";
import { toNodeListener } from "bowline/node";

/** Authorization server with one user, who is always logged in, and one client that is known in advance. */
const http = createServer();
http.listen(0, "127.0.0.1");
await once(http, "listening");
const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
const issuer = createIssuer({
  issuer: url,
  resources: ["https://conformance.example/mcp"],
  scopes: { "mcp:tools": "Use the tools" },
  user: () => ({ id: "ada", name: "Ada" }),
  clients: [{ clientId: "conformance", name: "Conformance suite", redirectUris: ["http://127.0.0.1/callback"] }],
});
http.on("request", toNodeListener(issuer));
process.on("SIGTERM", () => {
  http.close();
  http.closeAllConnections();
});
process.stdout.write(`${url}\n`);
