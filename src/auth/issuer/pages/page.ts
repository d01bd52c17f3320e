import { toBase64 } from "../../crypto.js";
import { NOT_STORED } from "../replies.js";
import { Html, html } from "./html.js";
import { STYLE } from "./style.js";

export interface Page {
  readonly status?: number;
  readonly title: string;
  readonly body: Html;
  readonly cookies?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Where its form may lead, beside this server. */
  readonly formTargets?: readonly string[];
}

let styleDigest: Promise<string> | undefined;

/** A page without scripts, that nobody can frame, and that leaves no trace in caches and referrers. */
export async function page({
  status = 200,
  title,
  body,
  cookies = [],
  formTargets = [],
  ...more
}: Page): Promise<Response> {
  styleDigest ??= crypto.subtle
    .digest("SHA-256", new TextEncoder().encode(STYLE))
    .then((bytes) => toBase64(new Uint8Array(bytes)));
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
<meta name="color-scheme" content="light dark">
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
