import { equal, ok, rejects } from "node:assert/strict";
import { inspect } from "node:util";
import { AuthError, bearer, memoryStore, workloadIdentity } from "bowline/auth/client";
import { type AuthWorld, eachEra, everyTransport, failsAt } from "../../support/auth-world.js";
import { gate } from "../../support/gate.js";
import { verifies } from "../../support/verifies.js";

const answer = (world: AuthWorld, status: number, json: unknown) =>
  world.routes.set("POST https://as.example/token", () => ({ status, json }));
const withToken = (world: AuthWorld) =>
  world.arrivals.filter(({ url, headers }) => url.origin === "https://mcp.example" && headers.has("authorization"));

verifies("client-auth:token-response:error-200", eachEra, async (world) => {
  const store = memoryStore();
  answer(world, 200, { error: "bad_verification_code", error_description: "wrong" });
  await rejects(world.call(world.oauth({ store })), {
    step: "token",
    error: "bad_verification_code",
    description: "wrong",
  });
  equal(store.get(`tokens ${world.mcp} https://as.example`), undefined);
});

verifies("client-auth:token-response:tolerant", eachEra, async (world) => {
  const store = memoryStore();
  for (const [status, more] of [
    [200, { expires_in: "3600" }],
    [200, { token_type: "bEaReR" }],
    [200, { x_unknown: { deep: 1 }, id_token: "not.a.jwt" }],
    [201, {}],
  ] as const) {
    world.as.live.add("fine");
    answer(world, status, { access_token: "fine", token_type: "Bearer", ...more });
    const auth = world.oauth({ store });
    equal((await world.call(auth)).status === 401, false);
    const { expiresAt } = store.get(`tokens ${world.mcp} https://as.example`) as { expiresAt?: number };
    equal(expiresAt !== undefined && expiresAt > Date.now() + 3_500_000, "expires_in" in more);
    store.delete(`tokens ${world.mcp} https://as.example`);
  }
});

verifies("client-auth:token-response:unknown-type", eachEra, async (world) => {
  for (const json of [
    { access_token: "t", token_type: "mac" },
    { access_token: "t" },
    { token_type: "Bearer" },
    { access_token: "", token_type: "Bearer" },
    [],
  ]) {
    answer(world, 200, json);
    await rejects(world.call(world.oauth()), failsAt("token"));
    await rejects(world.call(world.oauth({ dpop: { required: true } })), failsAt("token"));
  }
  equal(withToken(world).length, 0);
});

verifies("client-auth:oauth-error:consolidated-class", eachEra, async (world) => {
  for (const code of ["invalid_request", "invalid_scope", "access_denied", "temporarily_unavailable"]) {
    answer(world, 400, { error: code, error_description: "d", error_uri: "https://as.example/e" });
    await rejects(world.call(world.oauth()), {
      name: "AuthError",
      code: "auth_error",
      error: code,
      description: "d",
      uri: "https://as.example/e",
      status: 400,
    });
  }
  world.routes.set("POST https://as.example/token", () => ({ status: 502, text: "<html>bad gateway</html>" }));
  await rejects(world.call(world.oauth()), { error: "server_error", status: 502 });
  answer(world, 400, { error: "bad\nINFO all is well", error_description: "x\r\n\u001b[31mERROR forged\u2028line" });
  const failure = await world.call(world.oauth()).catch((error: unknown) => error);
  ok(failure instanceof AuthError);
  equal(/[\p{Cc}\u2028]/u.test(`${failure.message} ${failure.error} ${failure.description}`), false);
});

verifies("client-auth:no-secrets-in-logs", everyTransport, async (world, t) => {
  const shown: string[] = [];
  const show = (...all: unknown[]) =>
    shown.push(...all.map((each) => `${inspect(each, { depth: 12, showHidden: true })} ${JSON.stringify(each)}`));
  const logger = { debug: show, info: show, warn: show, error: show };
  for (const stream of ["stdout", "stderr"] as const) {
    const { write } = process[stream];
    t.mock.method(process[stream], "write", (...args: Parameters<typeof write>) => {
      shown.push(String(args[0]));
      return write.apply(process[stream], args);
    });
  }
  world.as.refreshes = true;
  const secret = { id: "known", secret: "client-secret-value" };
  const attempt = async (change: () => void, auth = world.oauth({ client: secret }), fails = true) => {
    world.routes.clear();
    world.as.live.clear();
    change();
    const visit = world.visit({ ...auth, logger, onError: show });
    if (!fails) return await visit;
    await rejects(visit, (error) => {
      show(error);
      return error instanceof AuthError;
    });
  };
  await attempt(() => answer(world, 400, { error: "invalid_request" }));
  await attempt(() => answer(world, 200, { access_token: "leaked-token", token_type: "mac" }));
  await attempt(() => answer(world, 500, { refresh_token: "leaked-token" }));
  await attempt(() => world.routes.set(world.entrance, () => ({ status: 401 })));
  const signing = { id: "known", assertion: () => "client-assertion-value" };
  await attempt(() => answer(world, 401, { error: "invalid_client" }), world.oauth({ client: signing }));
  const assertion = workloadIdentity(() => "workload-assertion-value");
  await attempt(() => answer(world, 400, { error: "invalid_grant" }), world.oauth({ grant: assertion }));
  const kept = world.oauth({ client: secret });
  await attempt(() => {}, kept, false);
  await attempt(() => answer(world, 503, { error: "temporarily_unavailable" }), kept);
  const sent = world.to("POST https://as.example/token").map(({ form }) => form);
  const members = ["code", "code_verifier", "refresh_token", "client_assertion", "assertion"];
  const used = members.map((name) => sent.flatMap((form) => form.get(name) ?? []));
  ok(used.every((values) => values.length > 0));
  const all = shown.join("\n");
  ok(all.includes("invalid_request"));
  const secrets = [...used.flat(), secret.secret, "leaked-token", ...world.as.issued];
  for (const each of secrets) equal(all.includes(each), false, each);
});

verifies(
  "client-auth:401-other-methods",
  eachEra.filter(({ name }) => name.startsWith("legacy")),
  async (world) => {
    world.as.refreshes = true;
    const opened = gate();
    let refused = false;
    world.routes.set(`GET ${world.mcp}`, (request) => {
      // The token ends between the handshake and the stream.
      if (!refused) world.as.live.clear();
      refused = true;
      if (world.accepts(request)) opened.open();
      return undefined;
    });
    const client = await world.connect(world.oauth());
    await opened.opened;
    equal(world.to(`GET ${world.mcp}`).length, 2);
    equal(world.to("POST https://as.example/token").at(-1)?.form.get("grant_type"), "refresh_token");
    await client.close();
  },
);

verifies(
  "client-auth:stepup:get-stream-403",
  eachEra.filter(({ name }) => name.startsWith("legacy")),
  async (world) => {
    const opened = gate();
    world.challenge = 'Bearer scope="a"';
    const asked = () => world.to("GET https://as.example/authorize").map(({ url }) => url.searchParams.get("scope"));
    world.routes.set(`GET ${world.mcp}`, () => {
      if (asked().at(-1) === "a b") {
        opened.open();
        return undefined;
      }
      return { status: 403, headers: { "www-authenticate": 'Bearer error="insufficient_scope", scope="b"' } };
    });
    await world.connect(world.oauth());
    await opened.opened;
    equal(asked().join(), "a,a b");
  },
);

verifies(
  "client-auth:stepup:get-stream-403",
  "no more often than for a message, and not at all where that is not wanted",
  eachEra.filter(({ name }) => name.startsWith("legacy")),
  async (world) => {
    let count = 0;
    world.challenge = 'Bearer scope="a"';
    world.routes.set(`GET ${world.mcp}`, () => ({
      status: 403,
      headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="s${++count}"` },
    }));
    for (const [stepUp, logins] of [
      [undefined, 2],
      [2, 3],
      ["throw", 1],
    ] as const) {
      world.arrivals.length = 0;
      const told = gate<Error>();
      const auth = world.oauth(stepUp === undefined ? {} : { stepUp });
      const client = await world.connect({ ...auth, onError: (error) => told.open(error) });
      ok(failsAt("scope")(await told.opened));
      equal(world.count("GET https://as.example/authorize"), logins);
      equal(world.count(`GET ${world.mcp}`), logins);
      equal((await client.callTool("echo", {})).isError, false);
    }
  },
);

verifies("client-auth:authprovider:token-attached", everyTransport, async (world) => {
  world.accepts = (request) => request.headers.has("authorization");
  let count = 0;
  const client = await world.connect(bearer({ token: () => `rotating-${++count}`, fetch: world.fetch }));
  await client.callTool("echo", {});
  const sent = withToken(world).map(({ headers }) => headers.get("authorization"));
  ok(sent.length > 1);
  equal(new Set(sent).size, sent.length);
  ok(sent.every((header) => header?.startsWith("Bearer rotating-")));
  await rejects(world.connect(bearer({ token: () => undefined, fetch: world.fetch })), failsAt("unauthorized"));
  equal(world.arrivals.at(-1)?.headers.has("authorization"), false);
});

verifies("client-auth:authprovider:onunauthorized-retry", everyTransport, async (world) => {
  let token = "stale";
  let told = 0;
  world.as.live.add("good");
  const rotated = bearer({
    token: () => token,
    fetch: world.fetch,
    onUnauthorized: (response) => {
      equal(response.status, 401);
      told++;
      token = "good";
    },
  });
  const client = await world.connect(rotated);
  await client.callTool("echo", {});
  equal(told, 1);
  world.as.live.clear();
  await rejects(client.callTool("echo", {}), failsAt("unauthorized"));
  equal(told, 2);
  const broken = new Error("no more");
  const onUnauthorized = () => {
    throw broken;
  };
  const failing = bearer({ token: () => "stale", fetch: world.fetch, onUnauthorized });
  await rejects(failing.fetch(new URL(world.mcp), { method: world.entrance.split(" ")[0] ?? "" }), broken);
});

verifies(
  "client-auth:401-other-methods",
  "a refusal that stays",
  eachEra.filter(({ name }) => name.startsWith("legacy")),
  async (world) => {
    const told = gate<Error>();
    world.routes.set(`GET ${world.mcp}`, () => ({ status: 401 }));
    const client = await world.connect({ ...world.oauth(), onError: (error) => told.open(error) });
    ok(failsAt("unauthorized")(await told.opened));
    equal(world.count(`GET ${world.mcp}`), 2);
    equal(world.count("GET https://as.example/authorize"), 2);
    equal((await client.callTool("echo", {})).isError, false);
  },
);

verifies("client-auth:retry-replays-message", "a notification", eachEra, async (world) => {
  const client = await world.connect(world.oauth());
  world.as.live.clear();
  world.arrivals.length = 0;
  await client.notify("notifications/custom", { a: 1 });
  const [first, second] = world.to(`POST ${world.mcp}`);
  ok(first?.body.includes("notifications/custom"));
  equal(second?.body, first?.body);
});
