import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AuthError } from "../protocol/auth-error.js";

export interface LoopbackOptions {
  /** The port to listen on; any free one unless told otherwise. */
  readonly port?: number;
  readonly path?: string;
  /** Shows the address to the user; in the system's browser unless told otherwise. */
  readonly open?: (url: URL) => void | Promise<void>;
  /** What the user reads in the browser afterwards: HTML, in which no script runs and nothing is loaded. */
  readonly page?: string;
}

/** What `createOAuth` takes to let the user of a command-line program log in with a browser. */
export interface Loopback {
  readonly redirectUrl: string;
  readonly authorize: (url: URL, context: { readonly signal: AbortSignal }) => Promise<URL>;
  readonly close: () => Promise<void>;
}

const PAGE = "<!doctype html><title>Done</title><p>You can close this window and go back to the program.";
/** The address of the page holds the code: nothing in it may run, and nothing outside may learn of it. */
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  connection: "close",
};

/**
 * Listens on this machine for the browser to come back. It keeps no program alive by itself. Whatever comes is handed on
 * as it is only when it carries the state of a user who is waited for; anything else is not found.
 */
export async function openLoopback(options: LoopbackOptions = {}): Promise<Loopback> {
  const { port = 0, path = "/callback", open = openBrowser, page = PAGE } = options;
  const { createServer } = await import("node:http");
  const waiting = new Map<string, { readonly arrive: (url: URL) => void; readonly fail: (reason: unknown) => void }>();
  const server = createServer((request, response) => {
    // A page that points a name of its own at this machine (DNS rebinding) gets nothing.
    const isOurs = request.method === "GET" && request.headers.host === new URL(redirectUrl).host;
    const url = isOurs ? callbackOf(request.url ?? "", redirectUrl) : undefined;
    const user = url === undefined ? undefined : waiting.get(url.searchParams.get("state") ?? "");
    answer(response, user === undefined ? 404 : 200, user === undefined ? "" : page);
    if (url !== undefined) user?.arrive(url);
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
    const closed = new AuthError("callback", "Nobody listens any more for the browser to come back");
    for (const { fail } of waiting.values()) fail(closed);
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { redirectUrl, authorize, close };
}

/** The address that was asked for, if it is the redirect address with parameters. Whoever asks may send anything. */
function callbackOf(target: string, redirectUrl: string): URL | undefined {
  const { origin, pathname } = new URL(redirectUrl);
  if (!target.startsWith("/") || !URL.canParse(`${origin}${target}`)) return undefined;
  const url = new URL(`${origin}${target}`);
  return url.pathname === pathname ? url : undefined;
}

function answer(response: ServerResponse, status: number, page: string): void {
  response.writeHead(status, HEADERS).end(page);
}

/** Opens an address with what the system has for it. No shell sees the address. */
async function openBrowser(url: URL): Promise<void> {
  const { spawn } = await import("node:child_process");
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open"]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler"]
        : ["xdg-open"];
  const child = spawn(command as string, [...args, url.href], { stdio: "ignore", detached: true });
  const tell = () => process.stderr.write(`Open this address to log in: ${url.href}\n`);
  child.once("error", tell);
  child.once("exit", (code) => code !== 0 && tell());
  child.unref();
}
