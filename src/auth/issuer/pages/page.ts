import { toBase64 } from "../../../protocol/base64.js";
import { sha256 } from "../../../protocol/bytes.js";
import { NOT_STORED } from "../http.js";
import type { OAuthProblem } from "../problem.js";

export interface Page {
  readonly status?: number;
  readonly title: string;
  readonly body: Html;
  readonly cookies?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** URLs, other than this server, to which the form may redirect. */
  readonly formTargets?: readonly string[];
}

let styleDigest: Promise<string> | undefined;

/** Creates an HTML response without scripts, that cannot be framed and leaves no trace in caches and referrers. */
export async function page({
  status = 200,
  title,
  body,
  cookies = [],
  formTargets = [],
  ...more
}: Page): Promise<Response> {
  styleDigest ??= sha256(STYLE).then(toBase64);
  const headers = new Headers({
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": [
      "default-src 'none'",
      `style-src 'sha256-${await styleDigest}'`,
      `form-action ${["'self'", ...formTargets].join(" ")}`,
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join("; "),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    ...NOT_STORED,
    ...more.headers,
  });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(layout(title, body).text, { status, headers });
}

function layout(title: string, body: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
${new Html(`<style>${STYLE}</style>`)}
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

/** Style of all pages. The content security policy names its digest, so no other style is applied. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f3f4f6; --card: #fff; --ink: #14181f; --soft: #5b6472; --line: #e2e5ea; --tint: #f7f8fa;
  --accent: #1d4ed8; --on-accent: #fff; --warn-ground: #fff7e6; --warn-line: #f0c36d; --warn-ink: #6b4400;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d1117; --card: #161b22; --ink: #e8ebf0; --soft: #9aa4b2; --line: #2b323c; --tint: #1c222b;
    --accent: #6ea0ff; --on-accent: #0b1220; --warn-ground: #2a2210; --warn-line: #6b5420; --warn-ink: #f3d391;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 24px 16px;
  background: var(--ground); color: var(--ink); overflow-wrap: anywhere;
  font: 16px/1.5 system-ui, sans-serif;
}
main {
  width: 100%; max-width: 440px; padding: 32px; background: var(--card);
  border: 1px solid var(--line); border-radius: 16px; box-shadow: 0 12px 32px rgb(0 0 0 / 8%);
}
.brand { margin: 0 0 24px; color: var(--soft); font-size: 14px; }
.brand strong { color: var(--ink); font-weight: 600; }
.mark {
  width: 52px; height: 52px; display: grid; place-items: center; margin-bottom: 16px; border-radius: 14px;
  background: var(--accent); color: var(--on-accent); font-size: 24px; font-weight: 650;
}
h1 { margin: 0 0 6px; font-size: 22px; line-height: 1.3; font-weight: 650; }
h2 { margin: 24px 0 8px; font-size: 14px; font-weight: 600; color: var(--soft); }
p { margin: 0 0 8px; }
.soft { color: var(--soft); font-size: 14px; }
ul { margin: 0; padding: 0; list-style: none; border: 1px solid var(--line); border-radius: 12px; overflow: hidden; }
li { padding: 12px 14px 12px 42px; position: relative; }
li + li { border-top: 1px solid var(--line); }
li::before {
  content: ""; position: absolute; left: 17px; top: 18px; width: 12px; height: 6px;
  border: solid var(--accent); border-width: 0 0 2px 2px; transform: rotate(-45deg);
}
li code { display: block; margin-top: 2px; color: var(--soft); font-size: 13px; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
dl { margin: 20px 0 0; padding: 14px; background: var(--tint); border: 1px solid var(--line); border-radius: 12px; font-size: 14px; }
dl div { display: grid; grid-template-columns: 104px 1fr; gap: 12px; }
dl div + div { margin-top: 8px; }
dt { color: var(--soft); }
dd { margin: 0; }
.warning {
  margin: 20px 0 0; padding: 12px 14px; font-size: 14px; border-radius: 12px;
  background: var(--warn-ground); border: 1px solid var(--warn-line); color: var(--warn-ink);
}
form { display: flex; flex-direction: row-reverse; gap: 12px; margin: 28px 0 0; }
button, .button {
  flex: 1; min-height: 46px; padding: 10px 16px; border: 1px solid var(--line); border-radius: 11px; cursor: pointer;
  background: transparent; color: var(--ink); font: inherit; font-weight: 600; text-align: center; text-decoration: none;
}
.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
button:hover, .button:hover { filter: brightness(1.08); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.button { display: inline-block; margin-top: 20px; }
footer { margin-top: 20px; color: var(--soft); font-size: 13px; }
footer p { margin: 0 0 6px; }
footer a { margin-right: 12px; }
a { color: var(--accent); }
@media (max-width: 420px) {
  body { place-items: start center; padding: 0; background: var(--card); }
  main { padding: 28px 20px; border: 0; border-radius: 0; box-shadow: none; }
  form { flex-direction: column; }
}
`;

/** Markup that is safe to insert into a page. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = string | Html | undefined | readonly (Html | undefined)[];

/** Creates markup. Inserted text is escaped for content and quoted attributes; only `Html` is inserted unchanged. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] ?? "";
  for (const [index, part] of parts.entries()) text += toText(part) + (strings[index + 1] ?? "");
  return new Html(text);
}

function toText(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  return typeof part === "string" ? escaped(part) : part.map((item) => item?.text ?? "").join("");
}

const ENTITIES: { readonly [char: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"'`]/g, (char) => ENTITIES[char] ?? "");
}

const MAX_SHOWN = 120;

/** Sanitizes a text of a client for display: one short line, without characters that reorder or hide other text. */
export function shownText(text: string): string {
  const line = text.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]+/gu, " ").trim();
  const chars = [...line];
  return chars.length > MAX_SHOWN ? `${chars.slice(0, MAX_SHOWN).join("")}…` : line;
}

/** Shows an error to the user. For errors that cannot be sent to a client by redirect. */
export function errorPage(server: string, problem: OAuthProblem): Promise<Response> {
  const { status, headers } = problem;
  return page({ status, title: errorTitle(server), headers, body: errorBody(server, problem) });
}

/** Shows an error with a link to a client that is not trusted enough for a redirect. */
export function leavingPage(server: string, problem: OAuthProblem, location: string): Promise<Response> {
  const { host } = new URL(location);
  return page({
    status: 400,
    title: errorTitle(server),
    body: html`${errorBody(server, problem)}
<p class="warning">You have not used this app here before. Go on only if you know ${host}.</p>
<a class="button" rel="noreferrer nofollow" href="${location}">Continue to ${host}</a>`,
  });
}

function errorTitle(server: string): string {
  return `Authorization failed - ${server}`;
}

function errorBody(server: string, { code, message }: OAuthProblem): Html {
  return html`<p class="brand"><strong>${shownText(server)}</strong></p>
<h1>Authorization failed</h1>
<p>The request of the app that sent you here was not completed. Nothing was allowed.</p>
<dl>
<div><dt>Problem</dt><dd>${message}</dd></div>
<div><dt>Code</dt><dd><code>${code}</code></dd></div>
</dl>`;
}
