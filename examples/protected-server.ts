import { authOf, introspectionVerifier, jwtVerifier, protect } from "bowline/auth/server";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import * as z from "zod";

/**
 * A server that requires a token: `ISSUER=https://login.example.com RESOURCE=https://example.com/mcp node
 * dist/protected-server.js`. With CLIENT_ID and CLIENT_SECRET it introspects each token at the issuer. Without them, tokens
 * are JWTs.
 */
const {
  ISSUER = "http://localhost:9000",
  RESOURCE = "http://localhost:3000/mcp",
  CLIENT_ID,
  CLIENT_SECRET,
} = process.env;

const verify =
  CLIENT_ID === undefined || CLIENT_SECRET === undefined
    ? jwtVerifier({ issuer: ISSUER })
    : introspectionVerifier({ issuer: ISSUER, client: { id: CLIENT_ID, secret: CLIENT_SECRET } });

const gate = protect({
  resource: RESOURCE,
  authorizationServers: [ISSUER],
  verify,
  scopes: ["notes:read"],
  dpop: true,
  name: "Notes",
});

const notes = new Map<string, string[]>();
const mine = (user = "") => notes.get(user) ?? [];

const server = new McpServer(
  { name: "notes", version: "1.0.0" },
  { http: { gate, allowedHosts: [new URL(RESOURCE).host] }, logger: console },
)
  .tool("read", { description: "Read your notes", annotations: { readOnlyHint: true } }, (_args, ctx) =>
    mine(authOf(ctx).subject).join("\n"),
  )
  .tool(
    "note",
    {
      description: "Write a note",
      input: z.object({ text: z.string().describe("The note") }),
      annotations: { destructiveHint: false, idempotentHint: false },
      // A client without this scope is asked to get it when the tool is first called.
      requires: { scopes: ["notes:write"] },
    },
    ({ text }, ctx) => {
      const { subject = "" } = authOf(ctx);
      notes.set(subject, [...mine(subject), text]);
      return "noted";
    },
  );

const running = await serveHttp(server, { port: Number(new URL(RESOURCE).port || 3000) });
console.error(`${RESOURCE} at ${running.url}, for tokens of ${ISSUER}`);
