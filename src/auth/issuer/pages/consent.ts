import { parseWebAddress } from "../../web-address.js";
import type { ConsentQuestion } from "../options.js";
import { isLoopbackUri } from "../redirect-uri.js";
import { type Html, html, shownText } from "./page.js";

export interface ConsentView extends ConsentQuestion {
  /** What the server is called. */
  readonly server: string;
  /** What a scope means, by its name. */
  readonly descriptions: ReadonlyMap<string, string>;
  /** Where the form is posted to, and the sealed `ConsentForm` that it carries. */
  readonly action: string;
  readonly form: string;
}

export function consentTitle({ client, server }: ConsentView): string {
  return `Allow ${nameOf(client)}? - ${server}`;
}

/** The page that asks the user. All that a client says of itself is shown as text, and nothing is loaded from anywhere. */
export function consentBody(view: ConsentView): Html {
  const { client, server, user, scopes, action, form } = view;
  const name = nameOf(client);
  return html`<p class="brand"><strong>${shownText(server)}</strong></p>
<div class="mark" aria-hidden="true">${[...name][0]?.toUpperCase()}</div>
<h1>Allow ${name} to use your account?</h1>
${user === undefined ? html`<p class="soft">You are asked to log in after this.</p>` : html`<p class="soft">You are logged in as <strong>${shownText(user.name ?? user.id)}</strong>.</p>`}
${
  scopes.length === 0
    ? undefined
    : html`<h2 id="scopes">It will be able to</h2>
<ul aria-labelledby="scopes">
${scopes.map((scope) => scopeItem(scope, view.descriptions.get(scope)))}</ul>`
}
<dl>
${facts(view)}</dl>
${warning(view)}
<form method="post" action="${action}">
<input type="hidden" name="ask" value="${form}">
<button class="primary" name="decision" value="approve">Allow</button>
<button name="decision" value="deny">Cancel</button>
</form>
${footer(view)}`;
}

function nameOf({ name, id }: ConsentQuestion["client"]): string {
  const shown = shownText(name ?? "");
  return shown === "" ? shownText(id) : shown;
}

function scopeItem(scope: string, description: string | undefined): Html {
  const about = description ?? "";
  return about === ""
    ? html`<li>${shownText(scope)}</li>\n`
    : html`<li>${about}<code>${shownText(scope)}</code></li>\n`;
}

function facts({ client, redirectUri, resources }: ConsentView): readonly (Html | undefined)[] {
  const { host } = new URL(redirectUri);
  const here = isLoopbackUri(redirectUri) ? "a program on this computer, " : "";
  return [
    client.source === "document" ? fact("App from", new URL(client.id).host) : undefined,
    fact("For", resources.map(shownText).join(", ")),
    fact("Returns to", `${here}${host}`),
  ];
}

function fact(term: string, text: string): Html {
  return html`<div><dt>${term}</dt><dd>${text}</dd></div>\n`;
}

/** Any program of this computer can wait there, whatever name it gives itself. */
function warning({ client }: ConsentView): Html | undefined {
  const local = client.source === "document" && client.redirectUris.every(isLoopbackUri);
  if (!local) return undefined;
  return html`<p class="warning" role="note"><strong>Did you just start this app yourself?</strong> The answer goes to a program on
this computer, and any program here could use the name ${nameOf(client)}. If you did not, cancel.</p>`;
}

function footer({ client }: ConsentView): Html {
  const unknown = "The app chose its name itself; it has not been checked.";
  return html`<footer>
${client.source === "registered" ? html`<p>${unknown}</p>` : undefined}${link(client.policyUri, "Privacy policy")}${link(client.termsUri, "Terms of use")}
</footer>`;
}

function link(uri: string | undefined, text: string): Html | undefined {
  if (uri === undefined || parseWebAddress(uri)?.protocol !== "https:") return undefined;
  return html`<a href="${uri}" target="_blank" rel="noopener noreferrer nofollow">${text}</a> `;
}
