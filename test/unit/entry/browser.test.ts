import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import * as auth from "bowline/auth/client";
import * as issuer from "bowline/auth/issuer";
import * as client from "bowline/client";
import { McpServer } from "bowline/server";
import * as authInPage from "#src/entry/browser/auth-client.js";
import * as issuerInWorker from "#src/entry/browser/auth-issuer.js";
import * as clientInPage from "#src/entry/browser/client.js";

describe("the entries for pages and workers", () => {
  it("export the names of the entries for Node, and the same classes", () => {
    for (const [own, usual] of [
      [clientInPage, client],
      [authInPage, auth],
      [issuerInWorker, issuer],
    ] as const) {
      deepEqual(Object.keys(own).sort(), Object.keys(usual).sort());
    }
    equal(clientInPage.McpError, client.McpError);
    equal(authInPage.AuthError, clientInPage.AuthError);
  });

  it("connect to a server of the same page", async () => {
    const server = new McpServer({ name: "page", version: "1.0.0" }).tool("greet", {}, () => "hello");
    await using connected = await clientInPage.connect(server);
    equal((await connected.callTool("greet", {})).text, "hello");
  });

  it("refuse an issuer on Node, where they cannot refuse private addresses", () => {
    throws(() => issuerInWorker.createIssuer({} as issuer.IssuerOptions), {
      code: "definition_error",
      message: /bundled with the condition browser/,
    });
  });

  it("refuse a command, with the remedy", async () => {
    const refused = (error: unknown) => {
      equal(error instanceof client.McpError && error.code, "no_processes");
      match(String(error), /connect: the command "npx" cannot be started: .*Serve the server over HTTP/);
      return true;
    };
    const target = { command: "npx", args: ["weather"] };
    await rejects(clientInPage.connect(target), refused);
    await rejects(clientInPage.connect({ ...target, restart: true }), refused);
    await using group = clientInPage.createGroup({ mcpServers: { weather: target } });
    await rejects(group.client("weather"), ({ cause }) => refused(cause));
  });
});
