import {
  callEvents,
  ownPrincipal,
  resultsAreTrue,
  runsOnce,
  settlesOnce,
  undeliveredNeverRan,
  verdictsAgree,
} from "./calls.mjs";
import {
  cancelsArrive,
  deafnessHasCauses,
  deathsHaveCauses,
  endsHaveCauses,
  failuresHaveCauses,
  fullRefuses,
} from "./causes.mjs";
import { noDefects } from "./errors.mjs";
import { changesArrive, idsAreUnique, messagesArrive, messagesOnce } from "./events.mjs";
import { nothingLeft } from "./left.mjs";
import { indexRuns } from "./runs.mjs";
import { endsOnce, opensOnce, sessionsStay } from "./sessions.mjs";

/** Rules of a history. Each yields a text for each violation. */
const RULES = {
  "calls settle exactly once": settlesOnce,
  "calls reported as not delivered never ran": undeliveredNeverRan,
  "retrySafe follows from delivery": verdictsAgree,
  "results are true": resultsAreTrue,
  "calls run once": runsOnce,
  "calls end without a result only for a cause": endsHaveCauses,
  "a process has died only if it was killed or stopped": deathsHaveCauses,
  "a full engine refuses for sure": fullRefuses,
  "handlers fail only for a cause": failuresHaveCauses,
  "cancelled calls end in their handlers": cancelsArrive,
  "official clients stop to listen only for a cause": deafnessHasCauses,
  "nothing reaches another principal": ownPrincipal,
  "messages of calls: once, in order, none missing": callEvents,
  "messages of sessions: at most once, in order": messagesOnce,
  "messages of sessions: none missing": messagesArrive,
  "no event id is given twice": idsAreUnique,
  "changes reach watches": changesArrive,
  "onOpen equals the sessions of clients": opensOnce,
  "onEnd at most once": endsOnce,
  "sessions stay until their end": sessionsStay,
  "nothing is left in the engine": nothingLeft,
  "no errors of defects": noDefects,
};

/**
 * Compares what clients saw with the truth. Returns the violations by rule. `history` has the fields of `Record`, and
 * `faults`, `truth` and the time of its end (`endedAt`).
 */
export function check(history) {
  const view = { ...history, runOf: indexRuns(history.truth) };
  return Object.entries(RULES).map(([rule, find]) => ({ rule, violations: [...find(view)] }));
}
