import { subscribe } from "node:diagnostics_channel";
import { setTimeout as delay } from "node:timers/promises";

/** Kinds that are ignored: files of modules that are being loaded, and parts of the census itself. */
const PASSING = new Set(["Immediate", "FSReqCallback", "FSReqPromise", "CloseReq"]);

let sockets = 0;
const count = ({ socket }) => {
  sockets++;
  socket.once("close", () => sockets--);
};
subscribe("net.client.socket", count);
subscribe("net.server.socket", count);

/** Counts what keeps the event loop busy, by kind: timers, sockets, pipes, processes. */
export function countHandles() {
  const handles = {};
  for (const kind of process.getActiveResourcesInfo()) if (!PASSING.has(kind)) handles[kind] = (handles[kind] ?? 0) + 1;
  return Object.fromEntries(Object.entries(handles).sort(([one], [other]) => one.localeCompare(other)));
}

/** Returns the number of TCP sockets of this process, of either side, from their creation to their close. */
export const countSockets = () => sockets;

/**
 * Returns the reachable bytes. Finalizers, weak references and closed handles release theirs over a few turns, so the
 * minimum of several samples is taken.
 */
export async function measureHeap(samples = 6) {
  let least = Number.POSITIVE_INFINITY;
  for (let sample = 0; sample < samples; sample++) {
    for (let turn = 0; turn < 3; turn++) {
      globalThis.gc();
      await delay(20);
    }
    least = Math.min(least, process.memoryUsage().heapUsed);
  }
  return least;
}
