import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { UrlElicitations } from "#src/era/url-elicitations.js";
import { answer, LegacyEndpoint, messages, settle, status, textOf, until } from "../../support/legacy-endpoint.js";
import { modernRequest } from "../../support/modern-request.js";
import { proves } from "../../support/verifies.js";

function createEndpoint(limits = {}): LegacyEndpoint {
  const endpoint = new LegacyEndpoint({}, { limits });
  endpoint.server
    .tool("look", {}, (_args, { client }) => JSON.stringify([client.capabilities, client.info]))
    .resource("note://{id}", { name: "note" }, () => "");
  return endpoint;
}

const handshake = (capabilities: object, clientInfo: object) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities, clientInfo },
});

const me = { name: "c", version: "1" };

test("a session keeps the known members of its client's description", async () => {
  const endpoint = createEndpoint();
  const known = {
    experimental: { a: { b: 1 } },
    roots: { listChanged: true },
    sampling: { tools: {} },
    elicitation: { form: {} },
    tasks: {},
    extensions: { "com.example/x": { depth: 2 } },
  };
  const info = {
    ...me,
    title: "C",
    description: "d",
    websiteUrl: "https://a.example",
    icons: [{ src: "https://a/i" }],
  };
  const opened = await status(endpoint.post(handshake({ ...known, more: {} }, { ...info, more: 1 })), 200);
  const session = opened.headers["mcp-session-id"];
  const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "look" } };
  deepEqual(JSON.parse(textOf(await answer(endpoint.post(call, { session }))) as string), [known, info]);
});

test("a description that is longer than the limit is refused, icons alone are left out", async () => {
  const endpoint = createEndpoint({ maxClientChars: 200 });
  const refused = endpoint.post(handshake({ extensions: { "com.example/x": { text: "x".repeat(200) } } }, me));
  await status(refused, 400);
  equal(messages(refused)[0]?.error?.code, -32602);
  match(messages(refused)[0]?.error?.message ?? "", /at most 200 characters.*limits\.maxClientChars/);
  equal(endpoint.stats.sessions, 0);
  const icons = [{ src: `data:image/png;base64,${"A".repeat(200)}` }];
  const opened = await status(endpoint.post(handshake({}, { ...me, icons })), 200);
  const session = opened.headers["mcp-session-id"];
  const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "look" } };
  deepEqual(JSON.parse(textOf(await answer(endpoint.post(call, { session }))) as string), [{}, me]);
});

test("an id or a progress token that is longer than the limit is refused in both eras", async () => {
  const endpoint = createEndpoint({ maxIdChars: 8 });
  const client = await endpoint.open();
  const long = "x".repeat(9);
  const fits = "x".repeat(8);
  const params = (progressToken: string) => ({ name: "look", _meta: { progressToken } });
  const modern = (id: string, progressToken: string) => {
    const { body, headers } = modernRequest("tools/call", { id, params: { name: "look" }, meta: { progressToken } });
    return endpoint.send("POST", body, { headers });
  };
  for (const send of [
    (id: string, token: string) => client.request(id, "tools/call", params(token)),
    (id: string, token: string) => modern(id, token),
  ]) {
    const byId = await status(send(long, fits), 400);
    equal(messages(byId)[0]?.error?.code, -32600);
    match(messages(byId)[0]?.error?.message ?? "", /limits\.maxIdChars/);
    const byToken = await status(send(fits, long), 400);
    equal(messages(byToken)[0]?.error?.code, -32602);
    match(messages(byToken)[0]?.error?.message ?? "", /progressToken.*limits\.maxIdChars/);
    ok("result" in (messages(await status(send(fits, fits), 200)).at(-1) ?? {}));
  }
});

test("a URI to subscribe to that is longer than the limit is refused", async () => {
  const endpoint = createEndpoint({ maxUriChars: 10 });
  const client = await endpoint.open();
  const { error } = await answer(client.request(1, "resources/subscribe", { uri: "note://1234" }));
  equal(error?.code, -32602);
  match(error?.message ?? "", /limits\.maxUriChars/);
  deepEqual((await answer(client.request(2, "resources/subscribe", { uri: "note://123" }))).result, {});
});

test("a subscription knows who asked for it, and not by which request", async () => {
  const seen: unknown[] = [];
  const gate = () => ({ auth: { subject: "ada" }, principal: "ada" });
  const endpoint = new LegacyEndpoint({ gate });
  const visible = (ctx: { auth: unknown; principal?: unknown; meta: unknown; url?: unknown; sessionId?: unknown }) => {
    seen.push([ctx.auth, ctx.principal, ctx.meta, ctx.url, ctx.sessionId]);
    return true;
  };
  endpoint.server.resource("note://a", { name: "a", visible }, () => "");
  const client = await endpoint.open();
  const stream = client.get();
  await until(() => stream.status === 200);
  await answer(client.request(1, "resources/subscribe", { uri: "note://a", _meta: { "com.example/x": 1 } }));
  seen.length = 0;
  endpoint.server.changes.resourceUpdated("note://a");
  await until(() => messages(stream).length === 1);
  deepEqual(seen, [[{ subject: "ada" }, "ada", undefined, "/mcp", client.id]]);
  await settle();
  await endpoint.server.close();
});

test("of too many pages that users were sent to, the oldest of the session that has the most is forgotten", () => {
  const pages = new UrlElicitations();
  const told: string[] = [];
  const owner = (name: string) => ({ onUrlElicitationDone: (id: string) => told.push(`${name} ${id}`) });
  const [ada, eve] = [owner("ada"), owner("eve")];
  const known = () => ["a", "1", "2", "3", "4", "b"].filter((id) => pages.has(id));
  pages.add("a", ada, 3);
  for (const id of ["1", "2", "1", "3"]) pages.add(id, eve, 3);
  deepEqual(known(), ["a", "1", "3"], "the one that was asked for again is not the oldest");
  pages.add("4", eve, 3);
  pages.add("b", ada, 3);
  deepEqual(known(), ["a", "4", "b"]);
  deepEqual([pages.count(ada), pages.count(eve)], [2, 1]);
  for (const id of ["a", "4", "b"]) equal(pages.complete(id), true);
  deepEqual(told, ["ada a", "eve 4", "ada b"]);
});

test("of too many pages, those of sessions that have ended are forgotten first", () => {
  const pages = new UrlElicitations();
  const owner = () => ({ onUrlElicitationDone: () => {} });
  const [ended, ada] = [owner(), owner()];
  for (const id of ["a", "b"]) pages.add(id, ended, 4);
  pages.release(ended);
  for (const id of ["c", "d", "e"]) pages.add(id, ada, 4);
  deepEqual(
    ["a", "b", "c", "d", "e"].filter((id) => pages.has(id)),
    ["b", "c", "d", "e"],
  );
});

proves(
  "elicitation:url:complete-fair",
  { wire: "legacy-http" },
  "a stranger that is sent to many pages does not keep others from being told",
  async () => {
    const endpoint = new LegacyEndpoint({}, { limits: { maxUrlElicitations: 4 } });
    endpoint.server.tool("go", { input: z.object({ id: z.string() }) }, async ({ id: elicitationId }, ctx) => {
      return (await ctx.elicitUrl("m", "https://x.test/", { elicitationId })).action;
    });
    const open = () => endpoint.open("2025-11-25", { elicitation: { url: {} } });
    const [ada, stranger] = [await open(), await open()];
    const stream = ada.get();
    const call = (client: typeof ada, id: string) =>
      client.request(id, "tools/call", { name: "go", arguments: { id } });
    call(ada, "mine");
    for (let n = 0; n < 20; n++) call(stranger, `page ${n}`);
    await settle();
    endpoint.server.elicitationCompleted("mine");
    await until(() => messages(stream).length === 1);
    deepEqual(messages(stream)[0]?.params, { elicitationId: "mine" });
    await endpoint.server.close();
  },
);
