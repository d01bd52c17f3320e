import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { memoryStore, oauth } from "bowline/auth/client";
import { connect } from "bowline/client";
import { fileStore, openLoopback } from "bowline/node";
import { FakeClock } from "bowline/testing";
import { type AuthWorld, CALLBACK, eachEra, everyTransport, failsAt } from "../../support/auth-world.js";
import { stdioWires } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { verifies } from "../../support/verifies.js";

type After = { after(work: () => Promise<void>): void };

async function folder(t: After): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "bowline-auth-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

const refreshes = (world: AuthWorld) =>
  world.to("POST https://as.example/token").filter(({ form }) => form.get("grant_type") === "refresh_token");

verifies("client-auth:token-storage:default", eachEra, async (world, t) => {
  const file = join(await folder(t), "kept", "tokens");
  await world.call(world.oauth());
  deepEqual(await readdir(join(file, "..", "..")), []);
  world.as.refreshes = true;
  await world.call(world.oauth({ store: fileStore(file, "a secret") }));
  equal((await stat(file)).mode & 0o777, 0o600);
  deepEqual(await readdir(join(file, "..")), ["tokens"]);
  const bytes = await readFile(file, "latin1");
  equal(/token-as|refresh-as|client-as/.test(bytes), false);
  world.arrivals.length = 0;
  await world.call(world.oauth({ store: fileStore(file, "a secret") }));
  equal(world.arrivals.length, 1);
  await rejects(world.call(world.oauth({ store: fileStore(file, "another") })), failsAt("configuration"));
  // Written anew each time: what was there before tells nothing about what is there now.
  const store = fileStore(file, "a secret");
  await store.set("more", 1);
  notEqual(await readFile(file, "latin1"), bytes);
  equal(await fileStore(file, "a secret").get("more"), 1);
});

verifies("client-auth:dpop:key-binding", "in a file", eachEra, async (world, t) => {
  const file = join(await folder(t), "tokens");
  world.as.metadata = { ...world.as.metadata, dpop_signing_alg_values_supported: ["ES256"] };
  world.as.extra = { token_type: "DPoP" };
  await world.call(world.oauth({ dpop: true, store: fileStore(file, "s") }));
  world.arrivals.length = 0;
  await world.call(world.oauth({ dpop: true, store: fileStore(file, "s") }));
  equal(world.arrivals.length, 1);
  ok(world.arrivals[0]?.headers.get("authorization")?.startsWith("DPoP "));
});

verifies("client-auth:refresh:single-flight", "across processes", eachEra, async (world, t) => {
  world.as.refreshes = true;
  world.as.extra = { expires_in: 0 };
  const file = join(await folder(t), "tokens");
  await world.call(world.oauth({ store: fileStore(file, "shared"), now: () => 0 }));
  world.as.extra = { expires_in: 3600 };
  world.arrivals.length = 0;
  const program = fileURLToPath(new URL("../../../../test/support/children/token-sharer.mjs", import.meta.url));
  const children = Array.from({ length: 2 }, () =>
    spawn(process.execPath, [program, world.base, world.mcp, file, "shared"], { stdio: ["pipe", "pipe", "inherit"] }),
  );
  const says = async (child: (typeof children)[0]) => String((await once(child.stdout, "data"))[0]).trim();
  deepEqual(await Promise.all(children.map(says)), ["ready", "ready"]);
  const ends = children.map((child) => once(child, "close"));
  const outcomes = Promise.all(children.map(says));
  for (const child of children) child.stdin.write("go\n");
  deepEqual(await outcomes, ["served", "served"]);
  await Promise.all(ends);
  equal(refreshes(world).length, 1);
  const used = new Set(world.to(`POST ${world.mcp}`).map(({ headers }) => headers.get("authorization")));
  equal(used.size, 1);
});

verifies("client-auth:refresh:rotation-handling", "a lost race costs no good token", eachEra, async (world) => {
  world.as.refreshes = true;
  const store = memoryStore();
  const [one, other] = [world.oauth({ store }), world.oauth({ store })];
  await world.call(one);
  await world.call(other);
  world.as.live.clear();
  // Both refuse to wait for each other; the second finds the refresh token used up, and the first one's tokens.
  const [held, arrived] = [gate(), gate()];
  let count = 0;
  world.routes.set("POST https://as.example/token", async () => {
    if (++count === 1) {
      arrived.open();
      await held.opened;
    }
    return undefined;
  });
  const slow = world.call(other);
  await arrived.opened;
  await world.call(one);
  held.open();
  equal((await slow).status === 401, false);
  equal(world.count("GET https://as.example/authorize"), 1);
  ok(store.get(`tokens ${world.mcp} https://as.example`));
});

verifies(
  "client-auth:401-triggers-flow",
  "with a browser that comes back to this machine",
  everyTransport,
  async (world) => {
    const asked = gate<URL>();
    const loopback = await openLoopback({ open: (url) => asked.open(url) });
    const store = memoryStore();
    try {
      const connecting = world.connect(world.oauth({ ...loopback, store, clientName: "cli" }));
      const callback = new URL(await world.browse(await asked.opened));
      const stranger = new URL(callback);
      stranger.searchParams.set("state", "guessed");
      equal((await fetch(stranger)).status, 404);
      equal((await fetch(callback, { method: "POST" })).status, 404);
      const page = await fetch(callback);
      equal(page.status, 200);
      ok((await page.text()).includes("close this window"));
      equal((await (await connecting).callTool("echo", {})).isError, false);
      equal((await fetch(callback)).status, 404);
    } finally {
      await loopback.close();
    }
    world.arrivals.length = 0;
    await (await world.connect(world.oauth({ store }))).callTool("echo", {});
    equal(world.count("GET https://as.example/authorize"), 0);
  },
);

verifies(
  "client-auth:401-triggers-flow",
  "the page of a refused authorization says so, also in place of an own page",
  everyTransport,
  async (world, t) => {
    for (const [error, title] of [
      ["access_denied", "Declined"],
      ["server_error", "Failed"],
    ] as const) {
      const asked = gate<URL>();
      const loopback = await openLoopback({ open: (url) => asked.open(url), page: "<p>Welcome" });
      t.after(() => loopback.close());
      const refused = rejects(world.connect(world.oauth({ ...loopback })), new RegExp(error));
      const callback = new URL(loopback.redirectUrl);
      callback.searchParams.set("state", (await asked.opened).searchParams.get("state") ?? "");
      callback.searchParams.set("iss", "https://as.example");
      callback.searchParams.set("error", error);
      callback.searchParams.set("error_description", "<b>hello</b>");
      const text = await (await fetch(callback)).text();
      ok(text.includes(`<title>${title}</title>`) && text.includes("close this window"), text);
      ok(!/Welcome|hello|Done/.test(text), text);
      await refused;
    }
  },
);

verifies("client-auth:abort", "a user who never comes back", everyTransport, async (world) => {
  const loopback = await openLoopback({ open: () => {} });
  const abort = new AbortController();
  const asked = gate();
  const authorize: typeof loopback.authorize = (url, context) => {
    asked.open();
    return loopback.authorize(url, context);
  };
  const connecting = world.connect({ ...world.oauth({ ...loopback, authorize }), signal: abort.signal });
  await asked.opened;
  abort.abort("enough");
  await rejects(connecting, (reason) => reason === "enough");
  await loopback.close();
});

verifies(
  "client-auth:401-triggers-flow",
  "time that the user takes is not the server's silence",
  everyTransport,
  async (world) => {
    const clock = new FakeClock();
    const asked = gate();
    const consent = gate();
    const authorize = async (url: URL) => {
      asked.open();
      await consent.opened;
      return world.browse(url);
    };
    const connecting = world.connect({ ...world.oauth({ authorize }), clock, timeoutMs: 1000 });
    await asked.opened;
    clock.advance(60_000);
    consent.open();
    equal((await (await connecting).callTool("echo", {})).isError, false);
  },
);

verifies(
  "client-auth:stdio-no-oauth",
  "a process gets its credentials by its environment",
  stdioWires,
  async ({ era }) => {
    const lines: string[] = [];
    const { fetch: real } = globalThis;
    globalThis.fetch = () => Promise.reject(new Error("something was fetched"));
    const said = gate();
    try {
      const script = "process.stderr.write('token ' + process.env.TOKEN + ': 401 unauthorized\\n'); process.exit(7)";
      const stderr = (line: string) => {
        lines.push(line);
        said.open();
      };
      const target = { command: process.execPath, args: ["-e", script], env: { TOKEN: "by-environment" }, stderr };
      await rejects(connect(target, { era }), { name: "ConnectionError" });
      // An OAuth that is given all the same is not asked.
      const authorize = () => Promise.reject(new Error("a user was asked"));
      const auth = oauth({ redirectUrl: CALLBACK, authorize });
      await rejects(connect(target, { era, ...auth }), { name: "ConnectionError" });
      await said.opened;
    } finally {
      globalThis.fetch = real;
    }
    deepEqual([...new Set(lines)], ["token by-environment: 401 unauthorized"]);
  },
);
