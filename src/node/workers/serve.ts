import { availableParallelism } from "node:os";
import { DefinitionError } from "../../protocol/errors.js";
import { type RunningHttpPrimary, serveInPrimary } from "./primary.js";
import { type ServedByWorkers, type SharingServer, serveInWorker } from "./worker.js";

export interface WorkersOptions<Running extends ServedByWorkers> {
  readonly workers: number | "cores";
  readonly port: number;
  readonly lameDuckMs: number;
  /** Listens in this process. */
  serve(port: number): Promise<Running>;
}

/** Maximum number of workers. */
const MAX_WORKERS = 1_024;

let isUsed = false;

/**
 * Serves by several processes of the same program. The first one starts the others by `node:cluster` and shares its
 * memory with them. Each of the others reaches this function, too, and listens.
 */
export async function serveByWorkers<Running extends ServedByWorkers>(
  server: SharingServer,
  options: WorkersOptions<Running>,
): Promise<RunningHttpPrimary | (Running & { readonly worker: number })> {
  const count = options.workers === "cores" ? availableParallelism() : options.workers;
  if (!Number.isInteger(count) || count < 1 || count > MAX_WORKERS)
    throw new DefinitionError(
      `serveHttp: workers must be "cores" or an integer from 1 to ${MAX_WORKERS}, got ${JSON.stringify(options.workers)}`,
    );
  if (server.cluster === undefined && server.join === undefined)
    throw new DefinitionError("serveHttp: workers needs a server with join(cluster, stateKeys), such as an McpServer");
  if (isUsed)
    throw new DefinitionError("serveHttp: workers was used in this process already; start a program for each server");
  isUsed = true;
  const { default: cluster } = await import("node:cluster");
  if (cluster.isPrimary) return serveInPrimary(cluster, server, { ...options, count });
  return serveInWorker(cluster, server, options.serve);
}
