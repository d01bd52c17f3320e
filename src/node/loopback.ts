import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AuthError } from "../protocol/auth-error.js";
import { assertOptions, type Known } from "../protocol/known-options.js";

/** Options of {@link openLoopback}. */
export interface LoopbackOptions {
  /**
   * Port to listen on. 0 selects a free port.
   * @default 0
   */
  readonly port?: number | undefined;
  /**
   * Path of the redirect URL.
   * @default "/callback"
   */
  readonly path?: string | undefined;
  /**
   * Shows the authorization URL to the user.
   * @default opens the system's browser
   */
  readonly open?: ((url: URL) => void | Promise<void>) | undefined;
  /**
   * HTML page that the browser shows after the authorization. It can run no script and load no resource. If the
   * authorization fails, the browser shows a page that says so instead.
   */
  readonly page?: string | undefined;
}

const OPTIONS: Known<LoopbackOptions> = { port: "count", path: "string", open: "function", page: "string" };

/** Options for `oauth` that let the user of a command-line program log in with a browser. */
export interface Loopback {
  readonly redirectUrl: string;
  readonly authorize: (url: URL, context: { readonly signal: AbortSignal }) => Promise<URL>;
  readonly close: () => Promise<void>;
}

const RETURN = "You can close this window and go back to the program.";
const PAGE = `<!doctype html><title>Done</title><p>${RETURN}`;
const DECLINED = `<!doctype html><title>Declined</title><p>The authorization was declined. ${RETURN}`;
const FAILED = `<!doctype html><title>Failed</title><p>The authorization failed. ${RETURN}`;
/**
 * The URL of the page contains the authorization code. The headers prevent scripts, and keep the URL from other sites.
 */
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  connection: "close",
};

/**
 * Listens on this machine for the browser's redirect. Keeps the process alive only while an authorization is pending.
 * Passes on a request only if it has the state of a pending authorization. Any other request gets 404.
 */
export async function openLoopback(options: LoopbackOptions = {}): Promise<Loopback> {
  assertOptions({ openLoopback }, options, OPTIONS);
  const { port = 0, path = "/callback", open = openBrowser, page = PAGE } = options;
  const { createServer } = await import("node:http");
  const waiting = new Map<string, { readonly arrive: (url: URL) => void; readonly fail: (reason: unknown) => void }>();
  const server = createServer((request, response) => {
    // Refuses a page that resolves its own name to this machine (DNS rebinding).
    const isOurs = request.method === "GET" && request.headers.host === new URL(redirectUrl).host;
    const url = isOurs ? callbackOf(request.url ?? "", redirectUrl) : undefined;
    const user = url === undefined ? undefined : waiting.get(url.searchParams.get("state") ?? "");
    if (url === undefined || user === undefined) return answer(response, 404, "");
    const error = url.searchParams.get("error");
    answer(response, 200, error === null ? page : error === "access_denied" ? DECLINED : FAILED);
    user.arrive(url);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  server.unref();
  const redirectUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;

  async function authorize(url: URL, { signal }: { readonly signal: AbortSignal }): Promise<URL> {
    const state = url.searchParams.get("state") ?? "";
    signal.throwIfAborted();
    let giveUp = () => {};
    server.ref();
    try {
      const arrival = new Promise<URL>((resolve, reject) => {
        waiting.set(state, { arrive: resolve, fail: reject });
        giveUp = () => reject(signal.reason);
        signal.addEventListener("abort", giveUp, { once: true });
      });
      arrival.catch(() => {});
      await open(url);
      return await arrival;
    } finally {
      signal.removeEventListener("abort", giveUp);
      waiting.delete(state);
      if (waiting.size === 0) server.unref();
    }
  }

  const close = async () => {
    const closed = new AuthError("callback", "The loopback listener was closed before the browser returned");
    for (const { fail } of waiting.values()) fail(closed);
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { redirectUrl, authorize, close };
}

/** Returns the requested URL if it is the redirect URL with parameters. The request may come from anyone. */
function callbackOf(target: string, redirectUrl: string): URL | undefined {
  const { origin, pathname } = new URL(redirectUrl);
  if (!target.startsWith("/") || !URL.canParse(`${origin}${target}`)) return undefined;
  const url = new URL(`${origin}${target}`);
  return url.pathname === pathname ? url : undefined;
}

function answer(response: ServerResponse, status: number, page: string): void {
  response.writeHead(status, HEADERS).end(page);
}

/** Opens a URL with the system's browser, or writes it to stderr if that fails. No shell interprets the URL. */
async function openBrowser(url: URL): Promise<void> {
  const { spawn } = await import("node:child_process");
  const [command, args] = planBrowser(url, process.platform);
  const child = spawn(command, args, { stdio: "ignore", detached: true });
  const tell = () => process.stderr.write(`Open this URL to log in: ${url.href}\n`);
  child.once("error", tell);
  child.once("exit", (code) => code !== 0 && tell());
  child.unref();
}

/** Returns the program that opens a URL on a platform, and its arguments. */
export function planBrowser({ href }: URL, platform: NodeJS.Platform): readonly [command: string, args: string[]] {
  if (platform === "win32") return ["rundll32", ["url.dll,FileProtocolHandler", href]];
  return [platform === "darwin" ? "open" : "xdg-open", [href]];
}
