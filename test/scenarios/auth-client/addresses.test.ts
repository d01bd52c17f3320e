import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { isLoopback, isPrivate } from "#src/auth/addresses.js";
import { eachEra, failsAt } from "../../support/auth-world.js";
import { proves, verifies } from "../../support/verifies.js";

const ROOT = "https://mcp.example/.well-known/oauth-protected-resource";

verifies("client-auth:discovery:https-only", eachEra, async (world) => {
  world.challenge = 'Bearer resource_metadata="http://internal.example/x"';
  world.routes.set("GET http://internal.example/x", () => ({
    json: { resource: world.mcp, authorization_servers: [world.as.issuer] },
  }));
  await world.call(world.oauth());
  equal(world.count("GET http://internal.example"), 0);
  await world.call(world.oauth({ allowInsecure: true }));
  equal(world.count("GET http://internal.example/x"), 1);
});

verifies("client-auth:discovery:private-address-block", "metadata SSRF", eachEra, async (world) => {
  const targets = [
    "https://169.254.169.254/latest",
    "https://10.0.0.1/x",
    "https://[fd00::1]/x",
    "https://[::ffff:10.0.0.1]/x",
    "https://[::1]/x",
    "https://127.0.0.1/x",
    "http://localhost:9/x",
    "https://2130706433/x",
    "https://0177.0.0.1/x",
    "https://0x7f.1/x",
    "https://metadata.internal/x",
  ];
  const connected: string[] = [];
  const fetch = (url: URL | string, init?: RequestInit) => {
    connected.push(new URL(url).hostname);
    return world.fetch(url, init);
  };
  for (const target of targets) {
    world.challenge = `Bearer resource_metadata="${target}"`;
    await world.call(world.oauth({ fetch }));
    world.listed = [target];
    // An address that the URL parser spells differently is no issuer.
    const step = new URL(target).href === target ? "server_metadata" : "issuer";
    await rejects(world.call(world.oauth({ fetch })), failsAt(step), target);
    world.listed = [world.as.issuer];
    world.as.metadata = { ...world.as.metadata, token_endpoint: target };
    await rejects(world.call(world.oauth({ fetch })), failsAt("configuration"), target);
    world.as.metadata = { ...world.as.metadata, token_endpoint: "https://as.example/token" };
  }
  deepEqual([...new Set(connected)].sort(), ["as.example", "mcp.example"]);
});

verifies(
  "client-auth:discovery:private-address-block",
  "a name that stands for a private address",
  eachEra,
  async (world) => {
    world.challenge = 'Bearer resource_metadata="https://rebound.example/x"';
    const resolve = async (name: string) => [name === "rebound.example" ? "10.1.2.3" : "93.184.216.34", "2001:db8::1"];
    await world.call(world.oauth({ resolve }));
    equal(world.count("GET https://rebound.example"), 0);
    equal(world.count("POST https://as.example/token"), 1);
  },
);

verifies("client-auth:discovery:redirect-targets", eachEra, async (world) => {
  const place = "GET https://mcp.example/here";
  world.challenge = 'Bearer resource_metadata="https://mcp.example/here"';
  const json = { resource: world.mcp, authorization_servers: [world.as.issuer], scopes_supported: ["moved"] };
  const to = (location: string) => world.routes.set(place, () => ({ status: 302, headers: { location } }));
  world.routes.set("GET https://mcp.example/there", () => ({ json }));
  to("/there");
  await world.call(world.oauth());
  equal(world.to("GET https://as.example/authorize")[0]?.url.searchParams.get("scope"), "moved");
  for (const target of ["http://169.254.169.254/", "https://10.0.0.1/", "http://plain.example/"]) {
    world.arrivals.length = 0;
    to(target);
    await world.call(world.oauth());
    equal(world.arrivals.filter(({ url }) => url.origin === new URL(target).origin).length, 0);
  }
  world.arrivals.length = 0;
  to("/here");
  await world.call(world.oauth());
  ok(world.count(place) <= 4);
  equal(world.count(`GET ${ROOT}`), 1);
});

proves("client-auth:discovery:private-address-block", {}, "which addresses are private", () => {
  const host = (url: string) => new URL(url).hostname;
  for (const url of [
    "http://100.64.0.1",
    "http://172.31.0.1",
    "http://192.168.1.1",
    "http://0.0.0.0",
    "http://224.0.0.1",
  ]) {
    ok(isPrivate(host(url)), url);
  }
  for (const url of [
    "http://[fe80::1]",
    "http://[ff02::1]",
    "http://[64:ff9b::a00:1]",
    "http://[2002:a00:1::]",
    "http://[::]",
    "http://[fec0::1]",
    "http://[::ffff:10.0.0.1]",
    "http://[::ffff:0:10.0.0.1]",
    "http://[::127.0.0.1]",
    "http://[64:ff9b:1::a00:1]",
    "http://[64:ff9b:1:a00:1::]",
  ]) {
    ok(isPrivate(host(url)), url);
  }
  for (const url of [
    "http://8.8.8.8",
    "http://172.32.0.1",
    "http://100.128.0.1",
    "http://[2606:4700::1111]",
    "http://[::ffff:8.8.8.8]",
    "http://[64:ff9b::808:808]",
    "http://a.example",
  ]) {
    equal(isPrivate(host(url)), false, url);
  }
  ok(isLoopback("localhost") && isLoopback("127.9.9.9") && isLoopback("[::1]") && isLoopback("[::ffff:127.0.0.1]"));
  // Others on the way lead to what is inside these: plain HTTP to them can be read.
  equal(isLoopback("[2002:7f00:1::1]") || isLoopback("[64:ff9b::7f00:1]"), false);
  equal(isLoopback("127.0.0.1.evil.example") || isLoopback("localhost.evil.example") || isLoopback("10.0.0.1"), false);
});

verifies("client-auth:discovery:redirect-targets", "documents are bounded", eachEra, async (world) => {
  world.routes.set(`GET ${ROOT}/mcp`, () => ({ text: `{"resource":"${"x".repeat(300_000)}"}` }));
  world.routes.set(`GET ${ROOT}`, () => ({ json: { resource: world.mcp, authorization_servers: [world.as.issuer] } }));
  await world.call(world.oauth());
  equal(world.count(`GET ${ROOT}`), 2);
});
