import { createOAuthWith, type OAuth } from "../../auth/client/oauth.js";
import type { OAuthOptions } from "../../auth/client/options.js";
import { type AuthStore, memoryStore } from "../../auth/client/store.js";
import { provideOauth4webapi } from "../../auth/oauth4webapi.js";
import { createPlatform } from "../../entry/auth-platform.js";
import { type Loopback, openLoopback } from "../../node/loopback.js";
import { usualFetch, usualGuardedFetch } from "../../node/outgoing/usual-fetch.js";
import { AuthError } from "../../protocol/auth-error.js";
import type { CommandContext } from "../context.js";
import { openPage } from "../open-page.js";
import { Prompter } from "../prompter.js";
import { toldUrl } from "../target.js";
import { visibleLine } from "../text.js";
import { loginSecret } from "./key.js";
import { type LoginOptions, LoginStore } from "./login-store.js";
import { LoginSteps } from "./steps.js";

/** How a command may log in. */
export interface AuthMode {
  /** True if the user can be asked to log in. */
  readonly isInteractive: boolean;
  /** True if tokens are kept for this command alone. */
  readonly inMemory: boolean;
  /** True to print the URL of the login, in place of opening a browser. */
  readonly noBrowser: boolean;
  /** What the command line says about the login. */
  readonly options: LoginOptions;
}

/** Authorization of a command at one server. */
export interface CommandAuth {
  readonly oauth: OAuth;
  readonly steps: LoginSteps;
  /** Store with the logins of the user. Undefined if nothing is kept. */
  readonly store: LoginStore | undefined;
  close(): Promise<void>;
}

/** Opens the authorization at a server. The key of stored logins is read, or created. */
export async function openAuth(server: string, mode: AuthMode, context: CommandContext): Promise<CommandAuth> {
  const { io, screen } = context;
  provideOauth4webapi(import("./oauth4webapi.js"));
  const store = mode.inMemory ? undefined : new LoginStore(io, await loginSecret(io, screen));
  const steps = new LoginSteps(server, screen);
  const loopback = mode.isInteractive ? await openLoopback({ open: (url) => showPage(url, mode, context) }) : undefined;
  const options = { ...(await store?.options(server)), ...mode.options };
  const settings = oauthOptions(options, store ?? memoryStore(), authorizer(loopback, steps, server, mode, context));
  const platform = createPlatform(steps.around(usualFetch), steps.around(usualGuardedFetch));
  const oauth = createOAuthWith({ ...settings, redirectUrl: loopback?.redirectUrl ?? REDIRECT }, platform);
  return { oauth, steps, store, close: async () => loopback?.close() };
}

/** Redirect URI of a client that can only renew tokens. The port of a loopback address does not count. */
const REDIRECT = "http://127.0.0.1/callback";

function oauthOptions(
  { clientId, issuer, scope, dpop }: LoginOptions,
  store: AuthStore,
  authorize: OAuthOptions["authorize"],
): OAuthOptions {
  const common = {
    store,
    authorize,
    clientName: "bowline",
    warnDeprecated: false,
    ...(scope !== undefined && { scope }),
    ...(dpop === true && { dpop: true }),
  };
  if (issuer === undefined) return common;
  return { ...common, issuer, ...(clientId !== undefined && { client: { id: clientId } }) };
}

type Authorize = NonNullable<OAuthOptions["authorize"]>;

function authorizer(
  loopback: Loopback | undefined,
  steps: LoginSteps,
  server: string,
  { noBrowser }: AuthMode,
  context: CommandContext,
): Authorize {
  if (loopback === undefined) {
    return () => {
      const message = `${visibleLine(toldUrl(server))} requires a login: bowline login ${visibleLine(toldUrl(server))}`;
      throw new AuthError("authorize", message);
    };
  }
  return async (url, { signal }) => {
    steps.show();
    const began = performance.now();
    const arrived = await (noBrowser ? eitherWay(loopback, url, signal, context) : loopback.authorize(url, { signal }));
    steps.tell("browser", `${((performance.now() - began) / 1000).toFixed(1)} s`);
    return arrived;
  };
}

/** Waits for the browser of this machine, and for the URL that the user copies from another one. */
async function eitherWay(
  loopback: Loopback,
  url: URL,
  signal: AbortSignal,
  context: CommandContext,
): Promise<URL | string> {
  const { io } = context;
  const done = new AbortController();
  const end = AbortSignal.any([signal, done.signal]);
  const waiting: Promise<URL | string | undefined>[] = [loopback.authorize(url, { signal: end })];
  if (io.stdin.isTTY === true) {
    const question = "Then paste the address to which the browser was sent, unless it is on this machine: ";
    waiting.push(new Prompter(io).ask(question, { signal: end }));
  }
  try {
    const arrived = await Promise.race(waiting);
    if (arrived === undefined || arrived === "")
      throw new AuthError("callback", "no address was given, so there is no login");
    return arrived;
  } finally {
    done.abort(new Error("another way was quicker"));
    await Promise.allSettled(waiting);
  }
}

async function showPage(url: URL, { noBrowser }: AuthMode, context: CommandContext): Promise<void> {
  const { screen } = context;
  if (noBrowser) return screen.error(`Open this page in a browser:\n${visibleLine(url.href)}`);
  screen.note(`  browser            ${visibleLine(toldUrl(url.href))}`);
  await openPage(url, context);
}
