import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AuthWorld } from "../../support/auth-world.js";
import { InspectorWorld, type PageEventsReader } from "../../support/inspector.js";

interface Opened {
  readonly auth: AuthWorld;
  readonly world: InspectorWorld;
  readonly page: PageEventsReader;
}

/** Inspector of a protected server, at which nobody is logged in. */
async function open(t: TestContext, era: "modern" | "legacy"): Promise<Opened> {
  const auth = await AuthWorld.open(t, era);
  auth.as.refreshes = true;
  auth.as.extra = { expires_in: 3600, scope: "mail.read mail.send" };
  const target = {
    label: "mail",
    wire: "http" as const,
    url: auth.mcp,
    targets: [auth.mcp],
    options: { fetch: auth.fetch },
  };
  const world = await InspectorWorld.entered(t, { servers: [target] });
  return { auth, world, page: await world.events(t) };
}

const loginOf = ({ state }: PageEventsReader) => state?.servers[0]?.login;

/** Opens the address that the page shows, as the user's browser does. */
async function logIn({ auth, world, page }: Opened): Promise<void> {
  const { run } = await world.do("login", {});
  await page.until(() => loginOf(page)?.status === "in the browser" || page.runs.some((end) => end.run === run));
  const url = loginOf(page)?.url;
  if (url !== undefined) equal((await fetch(await auth.browse(new URL(url)))).status, 200);
  await page.result("login", run);
}

for (const era of ["modern", "legacy"] as const) {
  test(`${era}: a login in the browser, with each step as a line, and no token in any response`, async (t) => {
    const opened = await open(t, era);
    const { auth, world, page } = opened;
    await world.do("connect", { era });
    await page.until(() => loginOf(page)?.status === "needed");
    equal(page.state?.connections[0]?.status, "failed");
    await logIn(opened);
    await page.until(() => loginOf(page)?.status === "done");
    const login = loginOf(page);
    deepEqual([login?.issuer, login?.scopes, login?.url], [auth.as.issuer, ["mail.read", "mail.send"], undefined]);
    deepEqual(
      login?.tokens.map(({ name, type }) => [name, type]),
      [
        ["access", "Bearer"],
        ["refresh", "Bearer"],
      ],
    );
    match(login?.tokens[0]?.digest ?? "", /^[0-9a-f]{16}$/);
    ok((login?.tokens[0]?.expiresAt ?? 0) > Date.now());
    const steps = page.lines.flatMap(({ event }) => (event.k === "auth" ? [event.step] : []));
    deepEqual(steps, ["challenge", "resource metadata", "server metadata", "registration", "token"]);

    const connection = page.state?.connections.find(({ status }) => status === "open")?.connection ?? 0;
    const { run } = await world.do("call", { connection, name: "echo" });
    match(JSON.stringify((await page.end(run)).result), /echo/);
    const saved = await world.do("save", { as: "recording" });
    const seen = JSON.stringify([page.lines, page.runs, page.state, saved]);
    ok(auth.as.issued.length >= 3);
    for (const secret of auth.as.issued) ok(!seen.includes(secret), `${secret} is shown`);

    const { text, until } = await world.do("reveal", { token: "access" });
    ok(auth.as.live.has(text));
    ok(until > Date.now() && until <= Date.now() + 30_000);
  });

  test(`${era}: a logout forgets the tokens, and connections need a login again`, async (t) => {
    const opened = await open(t, era);
    const { world, page } = opened;
    await logIn(opened);
    await page.until(() => loginOf(page)?.status === "done");
    await page.end((await world.do("logout", {})).run);
    await page.until(() => loginOf(page)?.status === "none");
    deepEqual(loginOf(page)?.tokens, []);
    await rejects(world.do("reveal", { token: "access" }), /not_available: there is no access token/);
    await world.do("connect", { era });
    await page.until(() => loginOf(page)?.status === "needed");
  });
}

test("a login that is cancelled ends its connection", async (t) => {
  const { world, page } = await open(t, "modern");
  const { run } = await world.do("login", {});
  await page.until(() => loginOf(page)?.status === "in the browser");
  await world.do("cancel", { run });
  equal((await page.end(run)).error?.code, "cancelled");
  await page.until(() => loginOf(page)?.status === "needed" && page.state?.connections[0]?.status === "closed");
});

test("a server that is not over HTTP has no login", async (t) => {
  const target = { label: "a", wire: "stdio" as const, targets: [{ command: "node" }], options: {} };
  const world = await InspectorWorld.entered(t, { servers: [target] });
  await rejects(world.do("login", {}), /not_available: login is not available here/);
});
