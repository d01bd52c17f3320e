import type { AuthEvent } from "../../recording/events.js";
import type { NumberedEvent } from "../../recording/reader.js";

/** Step of a login, as a row of its waterfall. */
export interface LoginStep {
  readonly event: AuthEvent & NumberedEvent;
  readonly step: string;
  readonly url: string;
  readonly state: "ok" | "failed" | "next";
  readonly told: string;
  readonly from: number;
  readonly us: number;
  /** Place in the waterfall, as shares of the whole login. */
  readonly left: number;
  readonly width: number;
}

/** Returns the steps of authorization in their order, with their places in time. */
export function loginOf(all: readonly NumberedEvent[]): readonly LoginStep[] {
  const events = all.filter((event): event is AuthEvent & NumberedEvent => event.k === "auth");
  const begin = Math.min(...events.map(({ t, us = 0 }) => t - us));
  const end = Math.max(...events.map(({ t }) => t));
  const whole = Math.max(1, end - begin);
  return events.map((event, index) => {
    const { t, us = 0, step, url, status, error } = event;
    const isGood = error === undefined && (status === undefined || status < 400);
    // A missing document is no failure if the next address has it.
    const isNext = !isGood && error === undefined && events[index + 1]?.step === step;
    const isChallenge = status === 401 && index === 0;
    return {
      event,
      step,
      url,
      state: isGood || isChallenge ? "ok" : isNext ? "next" : "failed",
      told: error ?? (status === undefined ? "" : String(status)),
      from: t - us,
      us,
      left: (t - us - begin) / whole,
      width: us / whole,
    };
  });
}
