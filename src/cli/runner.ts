import { createRequire } from "node:module";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type { ChannelServer, serveStdio } from "../node/stdio/serve.js";

const [, , file = "", name] = process.argv;

/**
 * Program of the process for a file: imports the file, and serves the server that it exports by stdio. A file that serves
 * by itself is left alone.
 */
async function run(): Promise<void> {
  const { write } = process.stdout;
  // The import of a file that awaits `serveStdio` ends with its server.
  const exported = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  // One that does not await it has reserved stdout by now. Servers of other packages read their input from the next turn on.
  await new Promise((resolve) => setImmediate(resolve));
  const { stdin } = process;
  const isRead = stdin.listenerCount("data") + stdin.listenerCount("readable") > 0;
  const hasServed = stdin.readableEnded || stdin.destroyed;
  if (name === undefined && (isRead || hasServed || process.stdout.write !== write)) return;
  const names = name === undefined ? ["default", "server"] : [name];
  const server = names.map((one) => exported[one]).find(isServer);
  if (server === undefined) return failLater(exported);
  const serve = await loadServeStdio();
  await serve(server);
}

function isServer(value: unknown): value is ChannelServer {
  return typeof (value as Partial<ChannelServer> | undefined)?.accept === "function";
}

/** Fails at once if the file listens or lacks a name, else when nothing is left that could begin to serve. */
function failLater(exported: Readonly<Record<string, unknown>>): void {
  const isListening = process.getActiveResourcesInfo().some((kind) => /ServerWrap$/.test(kind));
  if (name !== undefined || isListening) fail(exported);
  else process.once("beforeExit", () => fail(exported));
}

/** Returns `serveStdio` of the project's own copy of Bowline, or of this one if it has none. */
async function loadServeStdio(): Promise<typeof serveStdio> {
  let path: string | undefined;
  try {
    path = createRequire(file).resolve("bowline/node");
  } catch {
    // The file may lie outside of any project.
  }
  const loaded = path === undefined ? await import("../entry/node.js") : await import(pathToFileURL(path).href);
  return (loaded as { readonly serveStdio: typeof serveStdio }).serveStdio;
}

function fail(exported: Readonly<Record<string, unknown>>): void {
  const servers = Object.keys(exported).filter((one) => isServer(exported[one]));
  const has = servers.length === 0 ? "it exports no server" : `its servers are: ${servers.join(", ")}`;
  const wanted =
    name === undefined
      ? "serves nothing by stdio, and exports no server as default or server"
      : `exports no server ${name}`;
  process.stderr.write(`${basename(file)} ${wanted}; ${has}. A file that serves HTTP is reached by its URL.\n`);
  // What the file has opened, such as a listener, would keep the process alive.
  process.exit(1);
}

run().catch((error: unknown) => {
  // Ends the process with the stack on stderr, as the file would by itself.
  setImmediate(() => {
    throw error;
  });
});
