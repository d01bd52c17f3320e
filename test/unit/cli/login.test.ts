import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertShape, documentOf } from "../../support/command.js";
import { LoginWorld } from "../../support/login-world.js";

/** Asserts that no token, and no key, is in a text or a file. */
function assertNoSecret(world: LoginWorld, ...texts: string[]): void {
  const secrets = [...world.provider.seen, world.noted("secret-tool", "secret").trim()].filter((one) => one !== "");
  ok(secrets.length > 0, "there are secrets to look for");
  const all = [
    ...texts,
    world.noted("secret-tool", "args"),
    ...world.files().map(({ bytes }) => bytes.toString("latin1")),
  ];
  for (const secret of secrets) for (const text of all) ok(!text.includes(secret), "a secret is in plain text");
}

test("login by the browser: steps are shown, tokens are encrypted, and other commands use them", async (t) => {
  const world = await LoginWorld.open(t);
  const refused = await world.run(["call", world.server, "echo"]);
  deepEqual([refused.code, /bowline login <server>/.test(refused.stderr)], [3, true], refused.stderr);

  const login = await world.run(["login", world.server]);
  equal(login.code, 0, login.stderr);
  equal(login.stdout, `${world.server}: logged in at ${world.provider.issuer}, for tools, renewed without you\n`);
  const steps = login.stderr.split("\n").map((line) => line.trim().split(/ {2,}/)[0]);
  deepEqual(
    ["challenge", "resource metadata", "server metadata", "registration", "browser", "token"].filter(
      (step) => !steps.includes(step),
    ),
    [],
    login.stderr,
  );
  const called = await world.run(["call", world.server, "echo"]);
  deepEqual([called.code, called.stdout], [0, "echo\n"], called.stderr);
  equal(world.provider.count("GET", "/auth"), 1);
  deepEqual(
    world.files().map(({ mode }) => mode),
    world.files().map(() => 0o600),
  );
  deepEqual(
    world
      .files()
      .map(({ path }) => path.split("/").at(-2))
      .sort(),
    ["issuers", "servers"],
  );
  equal(Buffer.from(world.noted("secret-tool", "secret"), "base64url").length, 32);
  assertNoSecret(world, login.stdout, login.stderr, called.stderr);

  const listed = await world.run(["login", "--list", "--json"]);
  const { logins } = documentOf(listed, "logins").result as { logins: object[] };
  deepEqual(
    logins.map((one) => ({ ...one, expires: "later" })),
    [
      {
        server: world.server,
        issuer: world.provider.issuer,
        type: "bearer",
        renewable: true,
        scopes: ["tools"],
        expires: "later",
      },
    ],
  );
  assertNoSecret(world, listed.stdout);
  match((await world.run(["login", "--list"])).stdout, /, renewed without you\n$/);
  const again = await world.run(["login", world.server, "--json"]);
  documentOf(again, "login");
  equal(world.provider.count("GET", "/auth"), 1, "a login that works is not repeated");
  const other = await world.run(["login", world.server, "--scope", "more"]);
  deepEqual([other.code, /end it first: bowline logout/.test(other.stderr)], [2, true]);
});

test("processes of their own use one login, and renew it once", async (t) => {
  const world = await LoginWorld.open(t);
  equal((await world.run(["login", world.server])).code, 0);
  const ran = await world.renew(3);
  deepEqual(
    ran.map(({ code, stdout, stderr }) => [code, stdout, stderr]),
    Array.from(ran, () => [0, "echo\n", ""]),
  );
  equal(world.provider.count("POST", "/token"), 2, "one for the login, one to renew it");
  equal(world.provider.count("GET", "/auth"), 1);
  assertNoSecret(world);
});

test("logout revokes and deletes; without tokens a command ends with 3", async (t) => {
  const world = await LoginWorld.open(t);
  equal((await world.run(["login", world.server])).code, 0);
  const out = await world.run(["logout", world.server, "--json"]);
  deepEqual((documentOf(out, "ended").result as { ended: string[] }).ended, [world.server]);
  equal(world.provider.count("POST", "/token/revocation"), 1);
  equal((await world.run(["call", world.server, "echo"])).code, 3);
  equal((await world.run(["logout", world.server])).stdout, "no login\n");

  equal((await world.run(["login", world.server])).code, 0);
  const all = await world.run(["logout", "--all"]);
  deepEqual([all.code, all.stdout], [0, "1 login ended; nothing is stored any more\n"], all.stderr);
  deepEqual([world.files().length, world.noted("secret-tool", "secret")], [0, ""]);
  equal((await world.run(["login", "--list"])).stdout, "no logins\n");
});

test("on a terminal other commands log in by themselves; --no-login and --memory are kept to", async (t) => {
  const world = await LoginWorld.open(t);
  const never = await world.run(["call", world.server, "echo", "--no-login"], { tty: true });
  equal(never.code, 3, never.stderr);
  const forgotten = await world.run(["call", world.server, "echo", "--memory"], { tty: true });
  deepEqual([forgotten.code, forgotten.stdout, world.files().length], [0, "echo\n", 0], forgotten.stderr);
  const tried = await world.run(["login", world.server, "--memory"]);
  deepEqual([tried.stdout, world.files().length], [`${world.server}: the login works; nothing is kept\n`, 0]);
  const ran = await world.run(["call", world.server, "echo"], { tty: true });
  deepEqual([ran.code, ran.stdout], [0, "echo\n"], ran.stderr);
  match(ran.stderr, /registration .*\n.*browser /);
  const later = await world.run(["list", world.server, "--json"], { tty: true });
  assertShape(JSON.parse(later.stdout));
  ok(!later.stderr.includes("browser"), "a stored login is used without a word");
});

test("--no-browser prints the page, and takes the address", async (t) => {
  const world = await LoginWorld.open(t);
  rmSync(join(world.bin, "xdg-open"));
  const given = await world.run(["login", world.server, "--no-browser"], {
    tty: true,
    types: [[/paste the address[^:]*: /, "http://127.0.0.1:1/callback?code=a&state=b\n"]],
  });
  deepEqual(
    [given.code, /Open this page in a browser:\nhttp:\/\/127\.0\.0\.1:\d+\/auth\?/.test(given.stderr)],
    [3, true],
    given.stderr,
  );
  match(given.stderr, /arrived at http:\/\/127\.0\.0\.1:1\/callback, not at/);
  const none = await world.run(["login", world.server, "--no-browser"], {
    tty: true,
    types: [[/paste the address[^:]*: /, "\n"]],
  });
  deepEqual([none.code, /no address was given/.test(none.stderr)], [3, true], none.stderr);
});

test("a client that is registered, DPoP and the issuer are kept for later commands", async (t) => {
  const world = await LoginWorld.open(t);
  const { issuer } = world.provider;
  const lone = await world.run(["login", world.server, "--client-id", "known"]);
  deepEqual([lone.code, /--client-id needs --issuer/.test(lone.stderr)], [2, true]);
  const wrong = await world.run(["login", world.server, "--issuer", "https://login.example.com"]);
  deepEqual([wrong.code, world.files().length], [3, 0], wrong.stderr);
  const ran = await world.run(["login", world.server, "--client-id", "known", "--issuer", issuer]);
  equal(ran.code, 0, ran.stderr);
  world.provider.expireAll();
  const called = await world.run(["call", world.server, "echo"]);
  deepEqual(
    [called.code, world.provider.count("POST", "/reg"), world.provider.count("POST", "/token")],
    [0, 0, 2],
    called.stderr,
  );
});

test("--dpop binds the tokens to a key, which later processes use", async (t) => {
  const world = await LoginWorld.open(t);
  const login = await world.run(["login", world.server, "--dpop", "--json"]);
  equal((documentOf(login, "login").result as { login: { type: string } }).login.type, "dpop");
  world.provider.expireAll();
  const called = await world.spawn(["call", world.server, "echo"]);
  deepEqual([called.code, called.stdout, world.provider.count("POST", "/token")], [0, "echo\n", 2], called.stderr);
  match((await world.run(["login", "--list"])).stdout, /, with DPoP, renewed without you\n$/);
  assertNoSecret(world, login.stdout, login.stderr);
});

test("without a keychain the key is BOWLINE_SECRET, or a file that a line names", async (t) => {
  const world = await LoginWorld.open(t, "locked secret-tool");
  const secret = { BOWLINE_SECRET: "a secret of the user" };
  const first = await world.run(["login", world.server], { env: secret });
  equal(first.code, 0, first.stderr);
  ok(!/is in .*key/.test(first.stderr));
  const lost = await world.run(["call", world.server, "echo"]);
  deepEqual([lost.code, /Cannot autolaunch D-Bus.*bowline logout --all/.test(lost.stderr)], [3, true], lost.stderr);
  const wrong = await world.run(["call", world.server, "echo"], { env: { BOWLINE_SECRET: "another" } });
  deepEqual([wrong.code, /the secret is wrong/.test(wrong.stderr)], [3, true], wrong.stderr);
  equal((await world.run(["logout", "--all"])).code, 0);

  const kept = await world.run(["login", world.server]);
  equal(kept.code, 0, kept.stderr);
  match(kept.stderr, /The key of the stored logins is in .*\/key, mode 0600: secret-tool: Cannot autolaunch D-Bus/);
  const key = world.files().find(({ path }) => path.endsWith("/key"));
  equal(key?.mode, 0o600);
  const used = await world.run(["call", world.server, "echo"]);
  deepEqual([used.code, used.stderr], [0, ""], "it is said once");
});

for (const [platform, program] of [
  ["darwin", "security"],
  ["win32", "powershell"],
] as const) {
  test(`${platform}: the key is kept by ${program}, and in no argument`, async (t) => {
    const world = await LoginWorld.open(t, program);
    const { code, stderr } = await world.run(["login", world.server], { platform });
    equal(code, 0, stderr);
    const key = platform === "darwin" ? world.noted(program, "secret").trim() : "";
    notEqual(world.noted(program, "args"), "");
    ok(key === "" || !world.noted(program, "args").includes(key));
    const called = await world.run(["call", world.server, "echo"], { platform });
    deepEqual([called.code, called.stdout], [0, "echo\n"], called.stderr);
  });
}

test("mistakes are told, and a process has no login", async (t) => {
  const world = await LoginWorld.open(t);
  const run = async (...args: string[]) => {
    const { code, stderr } = await world.run(args);
    return `${code} ${stderr}`;
  };
  match(await run("login"), /^2 .*needs a server at a URL, or --list/);
  match(await run("login", "--", "node", "server.js"), /^2 .*is a process; a login is for servers at a URL/);
  match(await run("login", world.server, "--list"), /^2 .*--list is without a server/);
  match(await run("logout"), /^2 .*needs a server at a URL, or --all/);
  match(await run("login", world.server, "--header", "Authorization: Bearer a"), /^2 .*has a header Authorization/);
  match(await run("login", "http://127.0.0.1:1/mcp"), /^4 .*cannot connect/);
  match(await run("login", world.server, "--record", "a.rec.ndjson"), /^2 .*--record has no meaning for a login/);
  match(await run("logout", "--all", "--memory"), /^2 .*--memory has no meaning/);
});
