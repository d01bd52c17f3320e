import { problemUri } from "../authorization-response.js";
import type { IssuerCore } from "../core.js";
import { readForm, redirect } from "../http.js";
import { OAuthProblem } from "../problem.js";

/** Handles the submitted consent form. Accepts it once, from the page that showed it, in the same browser. */
export async function consent(core: IssuerCore, request: Request): Promise<Response> {
  const origin = request.headers.get("origin");
  if (origin !== null && origin !== "null" && origin !== new URL(core.issuer).origin)
    throw rejectedForm("was sent from another origin");
  const params = await readForm(request, core.limits);
  const form = await core.consents.openForm(request, params.get("ask"));
  if (form === undefined) throw rejectedForm("was not shown in this browser, or has expired");
  const { asked } = form;
  const client = await core.clients.find(asked.clientId);
  if (client === undefined) throw rejectedForm("is for an app that is no longer registered");
  const user = await core.login.findUser(core, request, asked, client);
  if (user instanceof Response) return user;
  if (user?.id !== form.user) throw rejectedForm("was shown to another user");
  // Before an upstream login the user is unknown. A repeated answer is harmless then, because it only starts another
  // login.
  const owner = user?.id;
  const isFirst =
    owner === undefined || (await core.store.add(`answered:${form.nonce}`, true, form.expiresAt, { owner }));
  if (!isFirst) throw rejectedForm("has already been submitted");
  if (params.get("decision") !== "approve") {
    return redirect(request, problemUri(core, asked, new OAuthProblem("access_denied", "the user denied the request")));
  }
  const response = await core.login.proceed(core, request, asked, user);
  for (const cookie of await core.consents.remember(request, asked, user?.id))
    response.headers.append("set-cookie", cookie);
  return response;
}

function rejectedForm(why: string): OAuthProblem {
  return new OAuthProblem("invalid_request", `the form ${why}; return to the app and start again`, { status: 403 });
}
