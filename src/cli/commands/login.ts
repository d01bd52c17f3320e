import { connect } from "../../entry/client.js";
import type { CommandContext } from "../context.js";
import { NotReached, UsageError } from "../failures.js";
import { loginSecret } from "../login/key.js";
import { type Login, type LoginOptions, LoginStore } from "../login/login-store.js";
import { type CommandAuth, openAuth } from "../login/open-auth.js";
import { serverFiles } from "../login/place.js";
import { bowlineVersion } from "../package.js";
import { textValue, timeOf } from "../parse.js";
import { findServer, type ServerPlan, toldUrl } from "../target.js";
import { visibleLine } from "../text.js";

/** Options of servers that have no meaning for a login. */
const NOT_HERE = ["era", "version", "log", "record", "overwrite", "no-login"];

/** Throws for an option of servers that would do nothing. */
export function assertLoginOptions({ values }: CommandContext, more: readonly string[] = []): void {
  const stray = [...NOT_HERE, ...more].find((name) => values[name] !== undefined);
  if (stray !== undefined) throw new UsageError(`--${stray} has no meaning for a login`);
}

/** Logs in at a server, or lists the logins. */
export async function login(context: CommandContext): Promise<void> {
  const { line, values } = context;
  assertLoginOptions(context);
  if (values.list === true) {
    if (line.server !== undefined) throw new UsageError("--list is without a server");
    return list(context);
  }
  if (line.server === undefined && line.program === undefined)
    throw new UsageError("bowline login needs a server at a URL, or --list");
  const plan = await findServer(line, context.io);
  const options = optionsOf(context);
  const mode = {
    isInteractive: true,
    inMemory: values.memory === true,
    noBrowser: values["no-browser"] === true,
    options,
  };
  let failure: unknown;
  for (const server of serversOf(plan)) {
    const auth = await openAuth(server, mode, context);
    try {
      return await logIn(server, auth, options, context);
    } catch (error) {
      failure ??= error;
      // Another path may have the server.
      if (![404, 405].includes((error as { readonly status?: number }).status ?? 0)) break;
    } finally {
      // Nothing of a login that failed is kept, such as an issuer that was wrong.
      if ((await auth.store?.login(server)) === undefined) await auth.store?.forget(server);
      await auth.close();
    }
  }
  throw new NotReached(plan.label, failure);
}

/** Returns the URLs at which the server may be. */
export function serversOf({ label, targets, options }: ServerPlan): readonly string[] {
  const servers = targets.filter((target): target is string => typeof target === "string");
  if (servers.length === 0) throw new UsageError(`${label} is a process; a login is for servers at a URL`);
  if (new Headers(options.headers).has("authorization"))
    throw new UsageError(`${label} has a header Authorization, so no login is used`);
  return servers.map((server) => new URL(server).href);
}

function optionsOf({ values }: CommandContext): LoginOptions {
  const clientId = textValue("client-id", values);
  const issuer = textValue("issuer", values);
  const scope = textValue("scope", values);
  if (clientId !== undefined && issuer === undefined)
    throw new UsageError("--client-id needs --issuer, the authorization server at which the client is registered");
  return {
    ...(clientId !== undefined && { clientId }),
    ...(issuer !== undefined && { issuer }),
    ...(scope !== undefined && { scope }),
    ...(values.dpop === true && { dpop: true }),
  };
}

/** Connects, which makes the server demand a login, and lists what it offers in case it demands one only then. */
async function logIn(server: string, auth: CommandAuth, options: LoginOptions, context: CommandContext): Promise<void> {
  const { screen, io, values } = context;
  const before = await auth.store?.login(server);
  if (before !== undefined && Object.keys(options).length > 0)
    throw new UsageError(`there is a login at ${toldUrl(server)}; end it first: bowline logout ${toldUrl(server)}`);
  // What later commands need to renew the tokens is kept before there are any.
  if (Object.keys(options).length > 0) await auth.store?.keepOptions(server, options);
  auth.steps.show();
  const client = await connect(server, {
    info: { name: "bowline", version: bowlineVersion() },
    fetch: auth.oauth.fetch,
    signal: io.signal,
    timeoutMs: timeOf("timeout", values),
    deadlineMs: timeOf("deadline", values),
    warnDeprecated: false,
  });
  try {
    context.describe(client);
    if (client.server.capabilities.tools !== undefined) await client.listTools(undefined, { signal: io.signal });
  } finally {
    await client.close();
  }
  const login = await auth.store?.login(server);
  context.finish({ server, ...(login !== undefined && { login: toldLogin(login) }) }, () => {
    const where = visibleLine(toldUrl(server));
    if (login !== undefined) screen.line(`${where}: logged in ${textOf(login)}`);
    else if (auth.store === undefined) screen.line(`${where}: the login works; nothing is kept`);
    else screen.line(`${where}: the server demands no login so far`);
  });
}

async function list(context: CommandContext): Promise<void> {
  const { io, screen } = context;
  const isEmpty = (await serverFiles(io)).length === 0;
  const logins = isEmpty ? [] : await new LoginStore(io, await loginSecret(io, screen)).logins();
  context.finish({ logins: logins.map(toldLogin) }, () => {
    for (const login of logins) screen.line(`${visibleLine(toldUrl(login.server))}  ${textOf(login)}`);
    if (logins.length === 0) screen.line("no logins");
  });
}

/** Returns a login without what may be secret in its URL. */
function toldLogin({ server, issuer, scope, type, renewable, expiresAt }: Login): object {
  return {
    server: toldUrl(server),
    issuer,
    type,
    renewable,
    ...(scope !== undefined && { scopes: scope.split(" ").filter(Boolean) }),
    ...(expiresAt !== undefined && { expires: new Date(expiresAt).toISOString() }),
  };
}

function textOf({ issuer, scope, type, renewable, expiresAt }: Login): string {
  const parts = [
    `at ${visibleLine(issuer)}`,
    scope === undefined || scope === "" ? "" : `for ${visibleLine(scope)}`,
    type === "dpop" ? "with DPoP" : "",
    renewable ? "renewed without you" : expiresAt === undefined ? "" : `until ${new Date(expiresAt).toISOString()}`,
  ];
  return parts.filter(Boolean).join(", ");
}
