import { isBuiltin } from "node:module";
import { Worker } from "node:worker_threads";
import { DefinitionError } from "../../protocol/errors.js";

/** Throws if this version of Node has no SQLite. */
export function assertSqlite(): void {
  if (isBuiltin("node:sqlite")) return;
  throw new DefinitionError(
    `sqliteCluster needs node:sqlite, which Node.js ${process.versions.node} does not have; use Node.js 22.13 or newer, or the engines of bowline/redis or bowline/postgres`,
  );
}

/** Thread that is in the program `url`, receives `options` and exchanges messages. */
export interface WorkerThread<Request> {
  post(request: Request): void;
  end(): Promise<void>;
}

/** Time that a thread has to close its file before it is ended. */
const CLOSE_MS = 500;

/** Starts a thread. `lost` is called once, when the thread has ended. `close` is the message that lets it end by itself. */
export function startThread<Request, Reply>(
  { url, options, close }: { readonly url: URL; readonly options: unknown; readonly close: Request },
  heard: (reply: Reply) => void,
  lost: (reason: Error) => void,
): WorkerThread<Request> {
  // Node 22 warns that the module is experimental.
  const execArgv = ["--disable-warning=ExperimentalWarning"];
  const worker = new Worker(url, { workerData: options, name: "bowline/sqlite", execArgv });
  let reason: Error | undefined;
  worker.on("message", heard);
  worker.on("error", (error: Error) => {
    reason = isMissing(error)
      ? new DefinitionError(`${url.href} does not exist; leave bowline out of the bundle of the program`, {
          cause: error,
        })
      : error;
  });
  const ended = new Promise<void>((resolve) => {
    worker.once("exit", () => {
      resolve();
      lost(reason ?? new Error("it was ended"));
    });
  });
  return {
    post: (request) => worker.postMessage(request),
    async end() {
      worker.postMessage(close);
      const timer = setTimeout(() => void worker.terminate(), CLOSE_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** True if a module was not found. */
const isMissing = (error: Error) => /MODULE_NOT_FOUND$/.test(String((error as { code?: unknown }).code));
