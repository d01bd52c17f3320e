import { setTimeout as delay } from "node:timers/promises";
import { FLOOD_MS } from "../app.mjs";

/** Results of the floods of one kind. */
export class FloodTally {
  times = 0;
  sent = 0;
  served = 0;
  refused = 0;

  /** `bound` names the limit. `refuses` is true if items above it are refused. */
  constructor(name, bound, refuses) {
    this.name = name;
    this.bound = bound;
    this.refuses = refuses;
  }

  count(sent, served, refused) {
    this.times++;
    this.sent += sent;
    this.served += served;
    this.refused += refused;
  }
}

/** Waits until a condition holds. Records an unexpected result if it never does. */
export async function until(lane, what, holds) {
  const begun = performance.now();
  for (let wait = 1; !(await holds()); wait = Math.min(50, wait * 2)) {
    if (performance.now() - begun > FLOOD_MS) {
      lane.tally.surprise(lane.doing, `not within ${FLOOD_MS} ms: ${what}`);
      return;
    }
    await delay(wait);
  }
}

/** Runs work in another client, which is closed in the end. On stdio, the client of the process itself is used. */
export async function withGuest(lane, options, work) {
  if (lane.wire === "stdio") return work(lane.client);
  const guest = await lane.dial(options, { direct: true });
  try {
    return await work(guest);
  } finally {
    await guest.close();
  }
}

/** Returns the number of items that the server of a client holds for floods. */
export async function heldFor(client) {
  return (await client.callTool("held")).structured;
}

export const initialize = (version) => ({
  jsonrpc: "2.0",
  id: "hello",
  method: "initialize",
  params: { protocolVersion: version, capabilities: {}, clientInfo: { name: "flood", version: "1.0.0" } },
});

/** Opens a session with plain requests. Returns its headers. */
export async function openSession(lane, version = "2025-03-26") {
  const { status, header } = await lane.world.post(initialize(version));
  const id = header("mcp-session-id");
  if (status !== 200 || id === null) throw new Error(`a session is refused with ${status}`);
  const session = { "mcp-session-id": id, "mcp-protocol-version": version };
  await lane.world.post({ jsonrpc: "2.0", method: "notifications/initialized" }, session);
  return session;
}
