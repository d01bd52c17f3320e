import type { FakeClock } from "bowline/testing";

export { FakeClock } from "bowline/testing";

/** Number of steps in which {@link elapse} advances. More than the renewals of a lease within its life. */
const STEPS = 20;

/**
 * Advances a fake clock in steps. Between them, what the timers began goes on as far as it can without other timers, so
 * that a lease is renewed in time.
 */
export async function elapse(clock: FakeClock, ms: number, settle = nextTurn): Promise<void> {
  for (let step = 0; step < STEPS; step++) {
    clock.advance(ms / STEPS);
    await settle();
  }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));
