// The modern era has no such file: nothing is kept between modern requests, so nothing has to be ended.

import type { AbortSwitch } from "../../../call/abort-switch.js";
import { pause } from "../../../call/abortable.js";
import type { Clock } from "../../../call/clock.js";
import { Turns } from "../../../call/turns.js";

/** Cancellations and session ends that all clients of this process are sending to one server. */
interface Farewells {
  readonly turns: Turns;
  /** Number of messages that are being sent or wait for their turn. */
  clients: number;
  /** Number of messages that were sent or have failed. */
  told: number;
}

/** Maximum number of concurrent messages to one server. More would only wait for connections. */
const MOST_AT_ONCE = 64;

const byOrigin = new Map<string, Farewells>();

/**
 * Tells a server that a call or a session is over. The messages to a server wait their turn. The message is abandoned
 * if no message to this server succeeds or fails for `silentMs`. Thus a thousand clients can close together, and an
 * unreachable server delays none of them.
 */
export async function sayFarewell(
  origin: string,
  tell: () => Promise<void>,
  end: AbortSwitch,
  clock: Clock,
  silentMs: number,
): Promise<void> {
  const farewells = byOrigin.get(origin) ?? { turns: new Turns(MOST_AT_ONCE), clients: 0, told: 0 };
  byOrigin.set(origin, farewells);
  farewells.clients++;
  const over = new AbortController();
  try {
    await Promise.race([tellInTurn(farewells, tell, end), untilSilent(farewells, clock, silentMs, over.signal)]);
  } finally {
    over.abort();
    if (--farewells.clients === 0) byOrigin.delete(origin);
  }
}

async function tellInTurn(farewells: Farewells, tell: () => Promise<void>, end: AbortSwitch): Promise<void> {
  const { turns } = farewells;
  if (!turns.take() && !(await turns.wait(end))) return;
  try {
    await tell();
  } finally {
    // An abandoned message does not show that the server is alive.
    if (!end.aborted) farewells.told++;
    turns.give();
  }
}

async function untilSilent(farewells: Farewells, clock: Clock, silentMs: number, over: AbortSignal): Promise<void> {
  let before: number;
  do {
    before = farewells.told;
    await pause(clock, silentMs, over);
    // A timer that is late because this process was busy runs before the responses that arrived in the meantime.
    if (!over.aborted) await new Promise((resolve) => setTimeout(resolve));
  } while (!over.aborted && farewells.told !== before);
}
