import { setTimeout as delay } from "node:timers/promises";
import { FLOOD_MS } from "../app.mjs";

/** What became of the floods of one kind. */
export class FloodTally {
  times = 0;
  sent = 0;
  served = 0;
  refused = 0;

  /** `bound` names the option that is flooded, `refuses` tells whether what is above it is refused. */
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

/** Waits until something holds; files it as unexpected where it does not come true. */
export async function until(lane, what, holds) {
  const begun = performance.now();
  for (let wait = 1; !(await holds()); wait = Math.min(50, wait * 2)) {
    if (performance.now() - begun > FLOOD_MS) {
      lane.tally.surprise(lane.doing, `it did not come true that ${what}`);
      return;
    }
    await delay(wait);
  }
}

/** Runs work in a client of its own, which is closed in the end. A process is flooded by the client that it serves. */
export async function withGuest(lane, options, work) {
  if (lane.wire === "stdio") return work(lane.client);
  const guest = await lane.dial(options, { direct: true });
  try {
    return await work(guest);
  } finally {
    await guest.close();
  }
}

/** What the server of a client holds for floods. */
export async function heldFor(client) {
  return (await client.callTool("held")).structured;
}

export const initialize = (version) => ({
  jsonrpc: "2.0",
  id: "hello",
  method: "initialize",
  params: { protocolVersion: version, capabilities: {}, clientInfo: { name: "flood", version: "1.0.0" } },
});

/** Opens a session by bare requests; gives the headers of it. */
export async function openSession(lane, version = "2025-03-26") {
  const { status, header } = await lane.world.post(initialize(version));
  const id = header("mcp-session-id");
  if (status !== 200 || id === null) throw new Error(`a session is refused with ${status}`);
  const session = { "mcp-session-id": id, "mcp-protocol-version": version };
  await lane.world.post({ jsonrpc: "2.0", method: "notifications/initialized" }, session);
  return session;
}
