// Modern has no twin: nothing is kept between modern requests, so nothing has to be ended.

import type { AbortSwitch } from "../../../call/abort-switch.js";
import { type Clock, pause } from "../../../call/clock.js";
import { Turns } from "../../../call/turns.js";

/** The ends of calls and sessions that all clients of this process are telling one server. */
interface Farewells {
  readonly turns: Turns;
  /** How many clients take part. */
  clients: number;
  /** How many ends were told, or could not be. */
  told: number;
}

/** More at a time would only wait for connections. */
const MOST_AT_ONCE = 64;

const byOrigin = new Map<string, Farewells>();

/**
 * Tells a server that a call or a session is over, when it is its turn. It is given up when nothing of the kind was told to
 * this server for `silentMs`: a thousand clients that close together take their time, and a server that is away holds up
 * nobody.
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
    // One that was given up is no sign of life.
    if (!end.aborted) farewells.told++;
    turns.give();
  }
}

async function untilSilent(farewells: Farewells, clock: Clock, silentMs: number, over: AbortSignal): Promise<void> {
  let before: number;
  do {
    before = farewells.told;
    await pause(clock, silentMs, over);
    // A timer that is late because this process was busy comes before the answers that came meanwhile.
    if (!over.aborted) await new Promise((resolve) => setTimeout(resolve));
  } while (!over.aborted && farewells.told !== before);
}
