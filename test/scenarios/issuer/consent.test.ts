import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { memoryIssuerStore } from "bowline/auth/issuer";
import {
  answerOf,
  CALLBACK,
  CLIENT,
  IssuerWorld,
  inOrder,
  LOCAL_CALLBACK,
  RESOURCE,
  toParams,
} from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const DOCUMENT = "https://tool.example/client.json";

/** An issuer that knows one document, with these members beside the usual. */
function describedBy(members: Readonly<Record<string, unknown>>) {
  const document = { client_id: DOCUMENT, client_name: "Tool", redirect_uris: [LOCAL_CALLBACK], ...members };
  return {
    clientDocuments: { fetch: async () => Response.json(document, { headers: { "cache-control": "no-store" } }) },
  };
}

proves(
  "hosting:auth:as:consent:display",
  http,
  "the page says who wants what, for what, and where it goes",
  async (t) => {
    const world = await IssuerWorld.open(t, describedBy({ redirect_uris: [CALLBACK] }));
    const { id } = await world.register({ client_name: "Stranger" });
    const registered = await (
      await world.browser().authorize({ client_id: id, scope: "notes:read notes:write" })
    ).text();
    for (const shown of [/Stranger/, /app\.example/, /Read your notes/, /notes:read/, /notes:write/, /Ada Lovelace/]) {
      match(registered, shown);
    }
    match(registered, new RegExp(RESOURCE));
    const described = await (await world.browser().authorize({ client_id: DOCUMENT })).text();
    for (const shown of [/Tool/, /tool\.example/, /app\.example/, /notes:read/, /mcp\.example/])
      match(described, shown);
  },
);

proves(
  "hosting:auth:as:consent:localhost-warning",
  http,
  "an app that is only on this computer is doubted",
  async (t) => {
    const local = await IssuerWorld.open(t, describedBy({}));
    const fields = { client_id: DOCUMENT, redirect_uri: LOCAL_CALLBACK };
    match(await (await local.browser().authorize(fields)).text(), /class="warning"/);
    const web = await IssuerWorld.open(t, describedBy({ redirect_uris: [CALLBACK, LOCAL_CALLBACK] }));
    doesNotMatch(
      await (await web.browser().authorize({ ...fields, redirect_uri: CALLBACK })).text(),
      /class="warning"/,
    );
  },
);

proves(
  "hosting:auth:as:consent:csrf",
  http,
  "only the page that asked, in the browser that was asked, is answered",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const [ada, eve] = [world.browser(), world.browser()];
    const page = await ada.authorize();
    const ask = /name="ask" value="([^"]+)"/.exec(await page.text())?.[1] ?? "";
    const hers = /name="ask" value="([^"]+)"/.exec(await (await eve.authorize()).text())?.[1] ?? "";
    const post = (browser: typeof ada, fields: Record<string, string>, origin = "https://as.example") =>
      browser.fetch("consent", { method: "POST", body: toParams(fields), headers: { origin } });
    const approve = { decision: "approve" };
    const bad = {
      get: await ada.fetch(`consent?${toParams({ ask, ...approve })}`),
      missing: await post(ada, approve),
      altered: await post(ada, { ask: `${ask.slice(0, -2)}AA`, ...approve }),
      foreign: await post(ada, { ask: hers, ...approve }),
      stolen: await post(eve, { ask, ...approve }),
      "no cookies": await post(world.browser(), { ask, ...approve }),
      "other site": await post(ada, { ask, ...approve }, "https://evil.example"),
    };
    for (const [name, response] of Object.entries(bad)) {
      ok(response.status >= 400 && response.status < 500, `${name}: ${response.status}`);
      equal(response.headers.get("location"), null, name);
    }
    world.user = { id: "bob" };
    equal((await post(ada, { ask, ...approve })).status, 403);
    world.user = { id: "ada" };
    ok(answerOf(await post(ada, { ask, ...approve })).has("code"));
    const again = await post(ada, { ask, ...approve });
    equal(again.status, 403);
    equal(again.headers.get("location"), null);
  },
);

proves("hosting:auth:as:consent:csrf", {}, "no name that points at this machine makes a page part of it", async (t) => {
  const world = await IssuerWorld.open(t, { issuer: "http://localhost:9" });
  const query = `authorize?${toParams(inOrder())}`;
  for (const host of ["localhost:9", "127.0.0.1:9", "[::1]:9"]) {
    equal((await world.issuer.fetch(new Request(`http://${host}/${query}`))).status, 200, host);
  }
  for (const host of ["evil.example:9", "192.168.0.1:9", "localhost.evil.example:9"]) {
    equal((await world.issuer.fetch(new Request(`http://${host}/${query}`))).status, 403, host);
  }
});

proves("hosting:auth:as:consent:csrf", http, "a question is forgotten after some minutes", async (t) => {
  const world = await IssuerWorld.open(t);
  const browser = world.browser();
  const page = await browser.authorize();
  world.skippedMs = 601_000;
  equal((await browser.press(page)).status, 403);
});

proves("hosting:auth:as:consent:clickjacking", http, "no page can be framed", async (t) => {
  const world = await IssuerWorld.open(t);
  const browser = world.browser();
  const { id } = await world.register();
  const pages = [
    await browser.authorize(),
    await browser.authorize({ client_id: "nobody" }),
    await browser.authorize({ client_id: id, scope: "nonsense" }),
    await browser.fetch("consent", { method: "POST", body: toParams({}) }),
    await browser.fetch("authorize", { method: "PUT" }),
  ];
  for (const page of pages) {
    match(page.headers.get("content-type") ?? "", /text\/html/);
    match(page.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
    equal(page.headers.get("x-frame-options"), "DENY");
  }
});

proves("hosting:auth:as:consent:html-escape", http, "what an app says of itself stays text", async (t) => {
  const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>\u202egnp`;
  const world = await IssuerWorld.open(t);
  const { id } = await world.register({ client_name: evil, policy_uri: "https://p.example/'onclick='x" });
  const page = await world.browser().authorize({ client_id: id });
  const text = await page.text();
  match(text, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
  doesNotMatch(text, /<script|<img|'onclick='x|\u202e/);
  const policy = page.headers.get("content-security-policy") ?? "";
  match(policy, /^default-src 'none'/);
  doesNotMatch(policy, /script-src|unsafe-inline|img-src/);
  const local = await world.register({ policy_uri: "http://localhost/policy", tos_uri: "https://p.example/tos" });
  const linked = await (await world.browser().authorize({ client_id: local.id })).text();
  match(linked, /<a href="https:\/\/p\.example\/tos"/);
  doesNotMatch(linked, /http:\/\/localhost/);
  for (const member of ["logo_uri", "policy_uri", "tos_uri", "client_uri"]) {
    const odd = ["https:///u:p@evil.example", "https:///p", 'https://p.example/"onclick="x', "https:p.example"];
    const others = ["javascript:alert(1)", "data:text/html,x", "http://p.example", "JAVASCRIPT://x/%0aalert(1)"];
    for (const link of [...odd, ...others]) {
      equal((await world.register({ [member]: link })).status, 400, `${member} ${link}`);
    }
  }
});

proves("hosting:auth:as:consent:per-client", http, "an approval is for one user, app, address and scope", async (t) => {
  let redirects = [CALLBACK];
  const world = await IssuerWorld.open(t, {
    clientDocuments: {
      fetch: async () =>
        Response.json(
          { client_id: DOCUMENT, client_name: "Tool", redirect_uris: redirects },
          { headers: { "cache-control": "no-store" } },
        ),
    },
  });
  const browser = world.browser();
  const asks = async (fields: Record<string, string>) => (await browser.authorize(fields)).status === 200;
  ok(await asks({ client_id: DOCUMENT }));
  await browser.approve({ client_id: DOCUMENT, scope: "notes:read notes:write" });
  equal(await asks({ client_id: DOCUMENT }), false);
  equal(await asks({ client_id: DOCUMENT, scope: "notes:write" }), false);
  ok(await asks({ client_id: DOCUMENT, prompt: "consent" }));
  ok(await asks({ client_id: CLIENT }));
  redirects = ["https://moved.example/cb"];
  ok(await asks({ client_id: DOCUMENT, redirect_uri: "https://moved.example/cb" }));
  redirects = [CALLBACK];
  await browser.press(await browser.authorize({ client_id: DOCUMENT, prompt: "consent", scope: "notes:read" }));
  ok(await asks({ client_id: DOCUMENT, scope: "notes:read notes:write" }));
  equal(await asks({ client_id: DOCUMENT, scope: "notes:read" }), false);
  world.user = { id: "bob" };
  ok(await asks({ client_id: DOCUMENT }));
  world.user = { id: "ada" };
  world.skippedMs = 31 * 86_400_000;
  ok(await asks({ client_id: DOCUMENT }));
});

proves("hosting:auth:as:consent:cookie", http, "cookies are sealed and name the app they are for", async (t) => {
  const world = await IssuerWorld.open(t);
  const browser = world.browser();
  await browser.approve();
  equal(browser.set.length, 2);
  for (const line of browser.set) {
    match(line, /^__Host-[\w-]+=[\w.-]+; Path=\/; Secure; HttpOnly; SameSite=Lax/);
    doesNotMatch(line, /Domain=/i);
  }
  equal((await browser.authorize()).status, 302);
  const [name = "", value = ""] = [...browser.cookies].find(([cookie]) => cookie.includes("consent")) ?? [];
  const at = value.length - 5;
  browser.cookies.set(name, `${value.slice(0, at)}${value[at] === "A" ? "B" : "A"}${value.slice(at + 1)}`);
  equal((await browser.authorize()).status, 200);
  // Under the name that belongs to another app, it is good for neither.
  const { id } = await world.register();
  await browser.approve({ client_id: id });
  for (const cookie of browser.cookies.keys()) if (cookie.includes("consent")) browser.cookies.set(cookie, value);
  equal((await browser.authorize({ client_id: id })).status, 200);
  const local = await IssuerWorld.open(t, { issuer: "http://127.0.0.1:9" });
  const plain = local.browser();
  await plain.approve();
  for (const line of plain.set) doesNotMatch(line, /__Host-|Secure/);
  ok(plain.set.every((line) => /HttpOnly; SameSite=Lax/.test(line)));
});

proves("hosting:auth:as:consent:denied", http, "a refusal is told, and nothing is left behind", async (t) => {
  const kept: string[] = [];
  const store = memoryIssuerStore();
  const world = await IssuerWorld.open(t, {
    store: {
      ...store,
      put: async (key, value, expiresAt) => {
        kept.push(key);
        await store.put(key, value, expiresAt);
      },
    },
  });
  const browser = world.browser();
  const response = await browser.press(await browser.authorize(), "deny");
  equal(response.status, 303);
  const answer = answerOf(response);
  equal(answer.get("error"), "access_denied");
  equal(answer.get("state"), "xyz");
  equal(answer.get("iss"), "https://as.example");
  equal(answer.has("code"), false);
  deepEqual(kept, []);
  equal((await browser.authorize()).status, 200);
});
