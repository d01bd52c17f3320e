import type { PageFolder } from "../node/files/page.js";

/** Recording of an HTML file, with the name that the page shows. */
export interface EmbeddedRecording {
  readonly name: string;
  /** The recording as NDJSON. */
  readonly text: string;
}

/** Returns the page that a folder has with recordings in it, as `htmlFile` does. */
export async function htmlOf(files: PageFolder, recordings: readonly EmbeddedRecording[]): Promise<string> {
  const [script, style] = await Promise.all([files("app.js"), files("app.css")]);
  if (script === undefined || style === undefined) throw new Error("The page of the inspector is missing: build it");
  return htmlFile({ script: script.text, style: style.text }, recordings);
}

/** Script and style of the page. */
export interface PageFiles {
  readonly script: string;
  readonly style: string;
}

/**
 * Writes the page with recordings as one HTML file that opens without a server. Its policy allows its one script and its
 * one style by their hashes, and no connection.
 */
export async function htmlFile(page: PageFiles, recordings: readonly EmbeddedRecording[]): Promise<string> {
  const script = page.script.trim();
  const style = page.style.trim();
  for (const [name, text, end] of [
    ["script", script, "</script"],
    ["style", style, "</style"],
  ] as const)
    if (text.toLowerCase().includes(end))
      throw new Error(`The ${name} of the page contains ${end}, which would end it.`);
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${await digestOf(script)}'`,
    `style-src 'sha256-${await digestOf(style)}'`,
    "img-src blob: data:",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ];
  const title = recordings.map(({ name }) => name).join(", ");
  const data = recordings.map(
    ({ name, text }) =>
      // In JSON, the character stands in texts only.
      `<script type="application/x-ndjson" data-name="${escaped(name)}">\n${text.trim().replaceAll("<", "\\u003c")}\n</script>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This recording needs JavaScript to be shown.</noscript>
${data.join("\n")}
<script type="module">${script}</script>
</body>
</html>
`;
}

async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return btoa(String.fromCharCode(...new Uint8Array(digest)));
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
