/**
 * An authorization server, an MCP server that accepts its tokens, and a client that gets one, in one file. In
 * `node examples/dist/issuer.js` a function presses Allow; with `--browser` you do.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { oauth } from "bowline/auth/client";
import { createIssuer } from "bowline/auth/issuer";
import { authOf, protect } from "bowline/auth/server";
import { connect } from "bowline/client";
import { openLoopback, toNodeListener } from "bowline/node";
import { McpServer } from "bowline/server";

const say = (text: string) => void process.stdout.write(`${text}\n`);

// One address for both. In production, use two host names and https.
const http = createServer();
http.listen(0, "127.0.0.1");
await once(http, "listening");
const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
const resource = `${origin}/mcp`;

const issuer = createIssuer({
  issuer: origin,
  name: "Harbour Office",
  resources: [resource],
  scopes: { "log:read": "Read the harbour log", "log:write": "Write into the harbour log" },
  user: () => ({ id: "ada", name: "Ada" }), // put the login of your application here
});

const server = new McpServer(
  { name: "harbour", version: "1.0.0" },
  {
    http: {
      gate: protect({ resource, authorizationServers: [issuer.issuer], verify: issuer.verify, scopes: ["log:read"] }),
    },
  },
).tool(
  "whoami",
  { description: "Tells who calls", annotations: { readOnlyHint: true } },
  (_args, ctx) => `${authOf(ctx).subject}, who may ${authOf(ctx).scopes.join(" and ")}`,
);

const [toIssuer, toServer] = [toNodeListener(issuer), toNodeListener(server)];
http.on("request", (request, response) => {
  const { pathname } = new URL(request.url ?? "/", origin);
  if (issuer.owns(pathname)) toIssuer(request, response);
  else toServer(request, response);
});
say(`The server is at ${resource}, protected by the issuer ${issuer.issuer}`);

const refusal = await fetch(resource, { method: "POST", body: "{}" });
say(`Without a token: ${refusal.status}`);

const loopback = await openLoopback(process.argv.includes("--browser") ? {} : { open: pressAllow });
const auth = oauth({ clientName: "Harbour Desk", scope: "log:read", warnDeprecated: false, ...loopback });
const client = await connect(resource, auth);
say(`With a token: I am ${(await client.callTool("whoami", {})).text}`);
await client.close();
await loopback.close();
await server.close();
http.close();
http.closeAllConnections();

/** Acts as a person with a browser: reads the page, presses Allow, and follows the redirect. */
async function pressAllow(url: URL): Promise<void> {
  const page = await fetch(url);
  const text = await page.text();
  say(`The page asks: ${/<h1>(.*?)<\/h1>/.exec(text)?.[1]}`);
  const ask = /name="ask" value="([^"]+)"/.exec(text)?.[1] ?? "";
  const cookie = page.headers.getSetCookie().map((line) => line.split(";", 1)[0]);
  const body = new URLSearchParams({ ask, decision: "approve" });
  const answer = await fetch(`${origin}/consent`, {
    method: "POST",
    body,
    headers: { cookie: cookie.join("; ") },
    redirect: "manual",
  });
  await (await fetch(answer.headers.get("location") ?? "")).text();
}
