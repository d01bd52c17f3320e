import { deepEqual, equal, match, throws } from "node:assert/strict";
import { protect, type TokenInfo } from "bowline/auth/server";
import { guardedEverywhere, ISSUER, type Knock, NOW, RESOURCE, toInfo } from "../../support/guarded.js";
import { verifies } from "../../support/verifies.js";

const none = { resource: undefined, authorizationServers: undefined };

function isRefused({ status, params }: Knock, description: RegExp): void {
  deepEqual([status, params.error], [401, "invalid_token"]);
  match(params.error_description ?? "", description);
}

verifies("hosting:auth:aud-validation", guardedEverywhere, async (world) => {
  world.tokens.set("foreign", { audience: "https://other.example/mcp" });
  const { present, seen, server } = await world.guard();
  isRefused(await present("foreign"), /audience .* is not https:/);
  equal(server.stats().sessions, 0);
  deepEqual(seen, []);
  equal((await present("good")).status, 200);
});

verifies("hosting:auth:aud-validation:missing-fails-closed", guardedEverywhere, async (world) => {
  const missing: [string, unknown][] = [
    ["undefined", undefined],
    ["empty", ""],
    ["list", []],
    ["null", null],
  ];
  for (const [token, audience] of missing) world.tokens.set(token, { audience: audience as string });
  const { present } = await world.guard();
  for (const [token] of missing) isRefused(await present(token), /no audience/);
});

verifies("hosting:auth:aud-validation:canonical", guardedEverywhere, async (world) => {
  const same = [
    ["https://mcp.example/mcp", "https://MCP.example:443/mcp", "https://mcp.example/mcp/", "HTTPS://mcp.example/mcp"],
    ["https://mcp.example", "https://mcp.example/", "https://mcp.example:443"],
    ["http://mcp.example:80", "http://mcp.example"],
    ["https://[2001:DB8::1]:8443/mcp", "https://[2001:db8::1]:08443/mcp/"],
  ];
  for (const group of same) {
    for (const resource of group) {
      const { present } = await world.guard({ protect: { resource } });
      for (const audience of group) {
        world.tokens.set("spelled", { audience });
        equal((await present("spelled")).status, 200, `${audience} at ${resource}`);
      }
    }
  }
});

verifies("hosting:auth:aud-validation:not-hierarchical", guardedEverywhere, async (world) => {
  const { present } = await world.guard();
  for (const audience of [
    "https://mcp.example",
    "https://mcp.example/mcp/admin",
    "https://mcp.example/mcp2",
    "https://mcp.example/MCP",
    "https://mcp.example/mcp//",
    "https://mcp.example/%6dcp",
    "https://mcp.example/x/../mcp",
    "https://mcp.example:8443/mcp",
    "http://mcp.example/mcp",
    "https://mcp.example/mcp?x=1",
    "https://mcp.example/mcp?",
    "https://mcp.example/mcp#x",
    "https://user@mcp.example/mcp",
    "https://mcp.example@evil.example/mcp",
    "https://mcp.example.evil.example/mcp",
    "https:\\\\mcp.example\\mcp",
    " https://mcp.example/mcp",
    "https://mcp.example\n/mcp",
  ]) {
    world.tokens.set("near", { audience });
    isRefused(await present("near"), /audience .* is not https:/);
  }
});

verifies("hosting:auth:aud-validation:malformed-401", guardedEverywhere, async (world) => {
  const { present } = await world.guard();
  for (const audience of [
    "https://mcp.example:99999/mcp",
    "https://mcp.example:abc/mcp",
    "mcp.example",
    "://",
    42,
    {},
    [{}, 42, null],
    true,
    "h".repeat(100_000),
  ]) {
    world.tokens.set("odd", { audience: audience as string });
    isRefused(await present("odd"), /audience .* is not https:/);
  }
});

verifies("hosting:auth:aud-validation:multi-audience", guardedEverywhere, async (world) => {
  const others = ["https://other.example", "https://mcp.example:bad"];
  world.tokens.set("several", { audience: [...others, RESOURCE] });
  world.tokens.set("others", { audience: others });
  const { present } = await world.guard();
  equal((await present("several")).status, 200);
  isRefused(await present("others"), /audience .* is not https:/);
});

verifies("hosting:auth:aud-validation:verifier-validates", guardedEverywhere, async (world) => {
  world.tokens.set("silent", { audience: undefined, scopes: ["a"] });
  world.tokens.set("silent-late", { audience: undefined, scopes: ["a"], expiresAt: NOW / 1000 - 1 });
  world.tokens.set("silent-poor", { audience: undefined });
  world.tokens.set("foreign", { audience: "https://other.example", scopes: ["a"] });
  const { present } = await world.guard({ protect: { scopes: ["a"], verifierChecksAudience: true } });
  equal((await present("silent")).status, 200);
  isRefused(await present("silent-late"), /expired/);
  equal((await present("silent-poor")).status, 403);
  isRefused(await present("foreign"), /audience .* is not https:/);
  const usual = await world.guard({ protect: { scopes: ["a"] } });
  isRefused(await usual.present("silent"), /no audience/);
});

verifies("hosting:auth:aud-validation:no-resource-configured", guardedEverywhere, async (world) => {
  world.tokens.set("foreign", { audience: "https://other.example" });
  world.tokens.set("silent", { audience: undefined });
  const { present } = await world.guard({ protect: none });
  for (const token of ["good", "foreign", "silent"]) equal((await present(token)).status, 200);
  // A resource that is no identifier does not switch the check off.
  for (const resource of ["", "mcp.example", "https://mcp.example/mcp#x", "https://a:b@mcp.example", "urn:mcp"]) {
    throws(() => protect({ resource, authorizationServers: [ISSUER], verify: () => undefined }), /resource/);
  }
});

verifies("hosting:auth:aud-validation:one-setting", guardedEverywhere, async (world) => {
  const resource = "https://mcp.example/public/mcp";
  const metadataUrl = "https://mcp.example/.well-known/oauth-protected-resource/public/mcp";
  world.tokens.set("ours", { audience: resource });
  const { present, knock, send, gate } = await world.guard({ protect: { resource } });
  equal((await knock()).params.resource_metadata, metadataUrl);
  const document = (await (await send(new URL(metadataUrl).pathname)).json()) as { resource: string };
  equal(document.resource, resource);
  equal((await present("ours")).status, 200);
  isRefused(await present("good"), /audience .* is not https:/);
  // The same setting without a server around it.
  const ask = (token?: string) =>
    gate.check(new Request(resource, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }));
  const [nobody, foreign, ours] = [await ask(), await ask("good"), await ask("ours")];
  equal(nobody instanceof Response && nobody.headers.get("www-authenticate")?.includes(metadataUrl), true);
  equal(foreign instanceof Response && foreign.status, 401);
  deepEqual((ours as { auth: TokenInfo }).auth, toInfo("ours", { audience: resource }));
  const alone = await gate.respond(new Request(metadataUrl));
  deepEqual(await alone?.json(), document);
  equal(gate.respond(new Request(resource)), undefined);
});
