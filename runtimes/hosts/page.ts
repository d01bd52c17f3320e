import { connect, McpError } from "bowline/client";
import { check, equal, type Open, type Outcome, runSuite } from "../suite.js";

/** Functions that the program on Node gives to the page. Servers listen at another origin. */
declare global {
  /** Serves a new server, and returns its URL. */
  function openHarbour(): Promise<string>;
  /** Waits until the server holds nothing, and closes it. */
  function closeHarbour(url: string): Promise<void>;
  function report(outcomes: readonly Outcome[]): Promise<void>;
}

const http: Open = async (_server, options) => {
  const url = await openHarbour();
  return { client: await connect(url, options), close: () => closeHarbour(url) };
};

/** Checks that the error of a failed `connect` names what a browser hides. */
async function fails(target: Parameters<typeof connect>[0], code: string, ...texts: string[]): Promise<void> {
  const error = await connect(target).then(
    () => undefined,
    (error: unknown) => error,
  );
  equal(error instanceof McpError && error.code, code);
  for (const text of texts) if (!String(error).includes(text)) throw new Error(`${error} lacks ${text}`);
}

const url = await openHarbour();
// A server in the page needs a secure context.
const outcomes = await runSuite({ http }, isSecureContext ? undefined : {});
outcomes.push(
  await check("errors", "origin", () =>
    fails(url.replace("mcp", "closed"), "connection_error", "http.allowedOrigins", origin),
  ),
  await check("errors", "redirect", () => fails(url.replace("mcp", "moved"), "connection_error", "redirects")),
  await check("errors", "command", () =>
    fails({ command: "npx" }, "no_processes", "npx", "Serve the server over HTTP"),
  ),
);
await closeHarbour(url);
await report(outcomes);
