import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { protect } from "bowline/auth/server";
import {
  type GuardOptions,
  guardedHosts,
  guardedHttp,
  guardedModern,
  ISSUER,
  RESOURCE,
} from "../../support/guarded.js";
import { modernRequest } from "../../support/modern-request.js";
import { verifies } from "../../support/verifies.js";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

async function documentOf(response: Response): Promise<Record<string, unknown>> {
  equal(response.status, 200);
  match(response.headers.get("content-type") ?? "", /^application\/json/);
  return (await response.json()) as Record<string, unknown>;
}

verifies("hosting:auth:metadata-endpoints", guardedHosts, async (world) => {
  const { send, asked, seen } = await world.guard();
  const response = await send(`${WELL_KNOWN}/mcp`);
  equal(response.headers.get("cache-control"), "public, max-age=300");
  const document = await documentOf(response);
  equal(document.resource, RESOURCE);
  // From a page of any origin, and whatever the request says of itself.
  const elsewhere = await send(`${WELL_KNOWN}/mcp?x=1`, {
    headers: { origin: "https://anywhere.example", authorization: "Bearer bad" },
  });
  deepEqual(await documentOf(elsewhere), document);
  deepEqual([asked, seen], [[], []]);
});

verifies("hosting:auth:prm:authorization-servers-field", guardedHosts, async (world) => {
  const authorizationServers = [ISSUER, "http://localhost:9000/tenant"];
  const { send } = await world.guard({ protect: { authorizationServers } });
  deepEqual((await documentOf(await send(`${WELL_KNOWN}/mcp`))).authorization_servers, authorizationServers);
  const build = (servers: readonly string[] | undefined) => () =>
    protect({
      resource: RESOURCE,
      verify: () => undefined,
      ...(servers === undefined ? undefined : { authorizationServers: servers }),
    });
  throws(build([]), /authorizationServers/);
  throws(build(undefined), /authorizationServers/);
  for (const bad of [
    "login.example",
    "http://login.example",
    "https://login.example?x",
    "https://login.example#x",
    "",
  ]) {
    throws(build([ISSUER, bad]), /authorizationServers/, bad);
  }
  throws(() => protect({ verify: () => undefined, authorizationServers: [ISSUER] }), /resource/);
});

verifies("hosting:auth:prm:path-aware", guardedHttp, async (world) => {
  const places = [
    ["https://mcp.example/public/mcp", `${WELL_KNOWN}/public/mcp`],
    ["https://mcp.example", WELL_KNOWN],
    ["https://mcp.example/", WELL_KNOWN],
    ["https://mcp.example/mcp/", `${WELL_KNOWN}/mcp/`],
  ] as const;
  for (const [resource, path] of places) {
    const { send, knock } = await world.guard({ protect: { resource } });
    const url = (await knock()).params.resource_metadata ?? "";
    equal(new URL(url).pathname, path);
    equal((await documentOf(await send(path))).resource, resource);
    equal((await documentOf(await send(path.replace(/\/$/, "")))).resource, resource);
    const other = await send(`${WELL_KNOWN}/other`);
    ok(other.status === 401 || other.status === 404);
    await other.body?.cancel();
  }
  // Two resources of one host.
  const gates = ["https://mcp.example/one", "https://mcp.example/two"].map((resource) =>
    protect({ resource, authorizationServers: [ISSUER], verify: () => undefined }),
  );
  for (const [index, name] of ["one", "two"].entries()) {
    const request = () => new Request(`https://mcp.example${WELL_KNOWN}/${name}`);
    const answers = await Promise.all(gates.map((gate) => gate.respond(request())));
    const document = (await answers[index]?.json()) as { resource: string } | undefined;
    equal(document?.resource, `https://mcp.example/${name}`);
    equal(answers[1 - index], undefined);
  }
});

verifies("hosting:auth:prm:verbatim-identifiers", guardedHosts, async (world) => {
  for (const [resource, issuer] of [
    ["https://mcp.example", "https://as.example"],
    ["https://MCP.example:443/mcp/", "https://AS.example/"],
  ] as const) {
    const { send, gate } = await world.guard({ protect: { resource, authorizationServers: [issuer] } });
    const text = await (await send(gate.paths[0] ?? "")).text();
    ok(text.includes(`"resource":"${resource}"`), text);
    ok(text.includes(`"authorization_servers":["${issuer}"]`), text);
  }
});

verifies("hosting:auth:prm:bearer-methods", guardedHosts, async (world) => {
  const get = async (more: GuardOptions["protect"]) => {
    const { send } = await world.guard({ protect: { ...more } });
    return documentOf(await send(`${WELL_KNOWN}/mcp`));
  };
  const least = { resource: RESOURCE, authorization_servers: [ISSUER], bearer_methods_supported: ["header"] };
  deepEqual(await get({}), least);
  const full = {
    scopes: ["a"],
    scopesSupported: ["a", "b"],
    name: "Harbour",
    documentation: "https://mcp.example/docs",
    metadata: { resource_policy_uri: "https://mcp.example/policy", resource: "https://evil.example" },
    dpop: { required: true, algorithms: ["ES256"] },
  };
  deepEqual(await get(full), {
    ...least,
    scopes_supported: ["a", "b"],
    resource_name: "Harbour",
    resource_documentation: "https://mcp.example/docs",
    resource_policy_uri: "https://mcp.example/policy",
    dpop_signing_alg_values_supported: ["ES256"],
    dpop_bound_access_tokens_required: true,
  });
  deepEqual(await get({ scopes: ["a"] }), { ...least, scopes_supported: ["a"] });
});

verifies("hosting:auth:prm:http-methods", guardedHosts, async (world) => {
  const { send, gate } = await world.guard();
  const path = `${WELL_KNOWN}/mcp`;
  const head = await send(path, { method: "HEAD" });
  deepEqual([head.status, head.headers.get("content-type"), await head.text()], [200, "application/json", ""]);
  const origin = "https://anywhere.example";
  equal((await send(path, { headers: { origin } })).headers.get("access-control-allow-origin"), "*");
  const preflight = await send(path, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "GET",
      "access-control-request-headers": "mcp-protocol-version",
    },
  });
  equal(preflight.status, 204);
  equal(preflight.headers.get("access-control-allow-origin"), "*");
  match(preflight.headers.get("access-control-allow-headers") ?? "", /mcp-protocol-version/);
  match(preflight.headers.get("access-control-allow-methods") ?? "", /GET/);
  for (const method of ["POST", "PUT", "DELETE"]) {
    const refused = await send(path, { method });
    deepEqual([refused.status, refused.headers.get("allow")], [405, "GET, HEAD, OPTIONS"]);
  }
  // Everything else is somebody else's.
  for (const other of ["/unrelated", WELL_KNOWN, `${path}/x`, "/.well-known/oauth-authorization-server"]) {
    equal(gate.respond(new Request(`https://mcp.example${other}`)), undefined);
    const status = world.transport === "node" ? 404 : 401;
    equal((await send(other)).status, status, other);
  }
});

verifies("hosting:auth:as-metadata-mirror", guardedHosts, async (world) => {
  const asked: string[] = [];
  const metadata = { issuer: ISSUER, token_endpoint: `${ISSUER}/token`, response_types_supported: ["code"] };
  let answer = () => Response.json(metadata);
  const fetch = async (url: URL | RequestInfo) => {
    asked.push(String(url));
    return answer();
  };
  const mirror = "/.well-known/oauth-authorization-server";
  let ms = 0;
  const { send } = await world.guard({ protect: { mirrorMetadata: true, fetch, now: () => ms } });
  answer = () => new Response("down", { status: 500 });
  equal((await send(mirror)).status, 502);
  answer = () => Response.json(metadata);
  asked.splice(0);
  equal((await send(mirror)).status, 502);
  deepEqual(asked, [], "a failure is not repeated at once");
  ms = 30_000;
  deepEqual(await documentOf(await send(mirror)), metadata);
  deepEqual(await documentOf(await send(mirror)), metadata);
  deepEqual(asked, [`${ISSUER}${mirror}`]);
  equal(
    (await send(mirror, { headers: { origin: "https://a.example" } })).headers.get("access-control-allow-origin"),
    "*",
  );
  const off = await world.guard();
  equal((await off.send(mirror)).status, world.transport === "node" ? 404 : 401);
  equal(off.gate.respond(new Request(`https://mcp.example${mirror}`)), undefined);
});

verifies("hosting:auth:client-credentials:advertise", guardedModern, async (world) => {
  const extension = "io.modelcontextprotocol/oauth-client-credentials";
  const discover = async (options: GuardOptions["server"]) => {
    const { send } = await world.guard(options === undefined ? {} : { server: options });
    const { headers, body } = modernRequest("server/discover", { headers: { authorization: "Bearer good" } });
    const response = await send("/mcp", { method: "POST", headers, body: JSON.stringify(body) });
    const { result } = (await response.json()) as { result: { capabilities: { extensions?: object } } };
    return result.capabilities.extensions;
  };
  deepEqual(await discover({ capabilities: { extensions: { [extension]: {} } } }), { [extension]: {} });
  equal(await discover(undefined), undefined);
});
