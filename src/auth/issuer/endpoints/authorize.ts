import type { IssuerCore } from "../core.js";
import { toProblem } from "../failures.js";
import { Params, readForm } from "../forms.js";
import type { ConsentQuestion } from "../options.js";
import { type ConsentView, consentBody, consentTitle } from "../pages/consent.js";
import { leavingPage } from "../pages/error.js";
import { page } from "../pages/page.js";
import type { OAuthProblem } from "../problem.js";
import { isLoopbackUri } from "../redirect-uri.js";
import { redirect } from "../replies.js";
import type { Asked } from "../store/records.js";
import { type AuthorizeTarget, assertAsked, findTarget } from "./authorize-request.js";
import { problemUri } from "./redirect.js";

/**
 * The authorization endpoint. What is wrong with the client or its redirect URI is told to the user alone; everything else
 * goes back to the client.
 */
export async function authorize(core: IssuerCore, request: Request): Promise<Response> {
  const params = request.method === "POST" ? await readForm(request) : new Params(new URL(request.url).searchParams);
  const target = await findTarget(core, params);
  try {
    return await ask(core, request, assertAsked(core, params, target), target, params.get("prompt"));
  } catch (error) {
    return await refuse(core, request, target, toProblem(core, error));
  }
}

/** Asks the user, unless this client has all of that already. */
async function ask(
  core: IssuerCore,
  request: Request,
  asked: Asked,
  { client, redirectUri }: AuthorizeTarget,
  prompt: string | undefined,
): Promise<Response> {
  const user = await core.login.who(core, request, asked, client);
  if (user instanceof Response) return user;
  const question = { client, user, redirectUri, scopes: asked.scopes, resources: asked.audience };
  const remembered = prompt !== "consent" && (await core.consents.covers(request, asked, user?.id));
  if (remembered || (await core.approves(question))) return await core.login.proceed(core, request, asked, user);
  return await consentPage(core, request, asked, question);
}

async function consentPage(
  core: IssuerCore,
  request: Request,
  asked: Asked,
  question: ConsentQuestion,
): Promise<Response> {
  const browser = await core.consents.browser(request);
  const view: ConsentView = {
    ...question,
    server: core.name,
    descriptions: core.scopes,
    action: new URL(`${core.base}/consent`).pathname,
    ask: await core.consents.ask(asked, question.user?.id, browser.id),
  };
  return await page({
    title: consentTitle(view),
    body: consentBody(view),
    cookies: browser.cookie === undefined ? [] : [browser.cookie],
    formTargets: formTargets(core, asked.redirectUri),
  });
}

/**
 * Browsers hold the redirects that follow a form to `form-action` as well, all the way: an app's own address may well
 * lead on to another one. So every https address is allowed, and of others the one that is to come.
 */
function formTargets({ login }: IssuerCore, redirectUri: string): readonly string[] {
  const plain = [redirectUri, ...login.leavesFor].filter((uri) => isLoopbackUri(uri) && /^http:/i.test(uri));
  // A policy cannot name an IPv6 address.
  return ["https:", ...plain.map((uri) => (uri.includes("[") ? "http:" : new URL(uri).origin))];
}

/** An error, sent to the client at once only where the user knows it. */
async function refuse(
  core: IssuerCore,
  request: Request,
  target: AuthorizeTarget,
  problem: OAuthProblem,
): Promise<Response> {
  const { client, redirectUri } = target;
  const location = problemUri(core, target, problem);
  const trusted =
    core.options.trustRedirect?.(client, redirectUri) ??
    (client.source === "configured" || (await core.consents.knows(request, client.id, redirectUri)));
  return trusted ? redirect(request, location) : await leavingPage(core.name, problem, location);
}
