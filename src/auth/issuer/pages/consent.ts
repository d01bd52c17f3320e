import { parseWebAddress } from "../../web-address.js";
import type { ConsentQuestion } from "../options.js";
import { isLoopbackUri } from "../redirect-uri.js";
import { type Html, html, shownText } from "./page.js";

/** Content of the consent page. */
export interface ConsentView extends ConsentQuestion {
  /** Name of the server. */
  readonly server: string;
  /** Descriptions of scopes by name. */
  readonly descriptions: ReadonlyMap<string, string>;
  /** Path to which the form is posted. `form` is the encrypted `ConsentForm` in it. */
  readonly action: string;
  readonly form: string;
}

export function consentTitle({ client, server }: ConsentView): string {
  return `Allow ${nameOf(client)}? - ${server}`;
}

/** Renders the consent page. Texts of the client are escaped, and no external resource is loaded. */
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

/**
 * Returns a warning for a client with a metadata document that has only loopback redirect URIs: any program on the
 * computer can use its client id and receive the response.
 */
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
