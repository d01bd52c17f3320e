import type { OAuthProblem } from "../problem.js";
import { html, page, shownText } from "./page.js";

/** Tells the user directly, where sending the browser anywhere would not be safe. */
export function errorPage(server: string, problem: OAuthProblem): Promise<Response> {
  const { status, code, message, headers } = problem;
  return page({
    status,
    title: `This did not work - ${server}`,
    headers,
    body: html`<p class="brand"><strong>${shownText(server)}</strong></p>
<h1>This did not work</h1>
<p>The app that sent you here made a request that cannot be answered. Nothing was allowed.</p>
<dl>
<div><dt>Problem</dt><dd>${message}</dd></div>
<div><dt>Code</dt><dd><code>${code}</code></dd></div>
</dl>`,
  });
}

/** The same, with a link by which the user may go on to a place that nobody vouches for. */
export function leavingPage(server: string, problem: OAuthProblem, location: string): Promise<Response> {
  const { host } = new URL(location);
  return page({
    status: 400,
    title: `This did not work - ${server}`,
    body: html`<p class="brand"><strong>${shownText(server)}</strong></p>
<h1>This did not work</h1>
<p>The app that sent you here made a request that cannot be answered. Nothing was allowed.</p>
<dl>
<div><dt>Problem</dt><dd>${problem.message}</dd></div>
<div><dt>Code</dt><dd><code>${problem.code}</code></dd></div>
</dl>
<p class="warning">You have not used this app here before. Go on only if you know ${host}.</p>
<a class="button" rel="noreferrer nofollow" href="${location}">Continue to ${host}</a>`,
  });
}
