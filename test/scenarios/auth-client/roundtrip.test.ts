import { deepEqual, equal, ok } from "node:assert/strict";
import { memoryStore } from "bowline/auth/client";
import { createIssuer } from "bowline/auth/issuer";
import { type Arrival, type AuthWorld, eachEra } from "../../support/auth-world.js";
import { verifies } from "../../support/verifies.js";

/** A user at a browser who reads the consent page and presses Allow. */
async function approve(world: AuthWorld, url: URL): Promise<string> {
  const page = await world.fetch(url, { redirect: "manual" });
  const text = await page.text();
  const action = /<form method="post" action="([^"]+)"/.exec(text)?.[1] ?? "";
  const ask = /name="ask" value="([^"]+)"/.exec(text)?.[1] ?? "";
  const cookie = page.headers.getSetCookie().map((line) => line.split(";", 1)[0]);
  const answer = await world.fetch(new URL(action, url), {
    method: "POST",
    body: new URLSearchParams({ ask, decision: "approve" }),
    headers: { cookie: cookie.join("; "), origin: url.origin },
    redirect: "manual",
  });
  return answer.headers.get("location") ?? `status ${answer.status}`;
}

verifies("flow:oauth:authorization-code-roundtrip", eachEra, async (world) => {
  const issuer = createIssuer({
    issuer: "https://as.example",
    resources: [world.mcp],
    user: () => ({ id: "ada" }),
    scopes: { tools: "Use the tools" },
  });
  world.hosts.set("https://as.example", issuer.fetch);
  world.accepts = () => true;
  const guard = async ({ headers }: Arrival) => {
    const verified = await issuer.verify(headers.get("authorization")?.replace("Bearer ", "") ?? "");
    const good = verified?.audience.includes(world.mcp) === true;
    return good ? undefined : { status: 401, headers: { "www-authenticate": world.challenge } };
  };
  for (const method of ["POST", "GET", "DELETE"]) world.routes.set(`${method} ${world.mcp}`, guard);

  const store = memoryStore();
  const client = await world.connect(world.oauth({ store, authorize: (url) => approve(world, url) }));
  equal((await client.callTool("echo", {})).text, "echo");
  const steps = world.arrivals.map(({ method, url }) => `${method} ${url.host}${url.pathname}`);
  deepEqual(steps.slice(0, 8), [
    "POST mcp.example/mcp",
    "GET mcp.example/.well-known/oauth-protected-resource/mcp",
    "GET as.example/.well-known/oauth-authorization-server",
    "POST as.example/register",
    "GET as.example/authorize",
    "POST as.example/consent",
    "POST as.example/token",
    "POST mcp.example/mcp",
  ]);
  equal(world.arrivals[7]?.body, world.arrivals[0]?.body);
  await client.close();

  world.arrivals.length = 0;
  const second = await world.connect(world.oauth({ store, authorize: () => undefined }));
  equal((await second.callTool("echo", {})).text, "echo");
  ok(world.arrivals.every(({ url }) => url.href === world.mcp));
});
