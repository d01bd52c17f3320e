import { machineStalls } from "../floors.mjs";
import { wasRunning } from "./runs.mjs";

/** Counts what happened in a run, for its minimum numbers and its report. */
export function countAll({ calls, truth, faults, runOf }) {
  const ofKind = (kind) => faults.filter((fault) => fault.kind === kind);
  const killed = ofKind("kill").flatMap(({ nodes, at }) => nodes.map((node) => ({ node, at })));
  const hadCalls = ({ node, at }) => calls.some((call) => wasRunning(call, runOf(call), node, at));
  return {
    calls: calls.length,
    results: calls.filter(({ settlements }) => settlements[0]?.how === "result").length,
    official: calls.filter(({ isOfficial, settlements }) => isOfficial && settlements[0]?.how === "result").length,
    cancelled: calls.filter((call) => call.settlements[0]?.how === "cancelled" && runOf(call).begins.length > 0).length,
    questions: answeredElsewhere(truth, calls, runOf),
    takeovers: countTakeovers(truth),
    resumed: countResumed(truth),
    kills: killed.filter(hadCalls).length,
    stops: ofKind("stop").length,
    engineKills: ofKind("engine").filter(({ isCopy }) => isCopy !== true).length,
    fulls: ofKind("full").length,
    rollbacks: ofKind("rollback").length,
    cuts: truth.filter(({ kind }) => kind === "cut").length,
    stalls: machineStalls(truth, ofKind("stop")).length,
  };
}

/** Counts the streams of calls that were resumed on another node than the one that writes them. */
function countResumed(truth) {
  const resumed = truth.filter(({ kind }) => kind === "resume");
  return new Set(resumed.map(({ subject: session, principal: stream }) => `${session} ${stream}`)).size;
}

/** Counts the questions that were answered on another node than the one that asked. */
function answeredElsewhere(truth, calls, runOf) {
  const stored = new Set(truth.filter(({ kind }) => kind === "elsewhere").map(({ subject }) => subject));
  const repeated = calls.filter((call) => {
    const { begins, answers } = runOf(call);
    return call.era === "modern" && answers.length > 0 && begins.some(({ node }) => node !== begins[0].node);
  });
  return stored.size + repeated.length;
}

/** Counts the GET streams that another node took over. A handshake makes a holder without a stream. */
function countTakeovers(truth) {
  const holders = new Map();
  let count = 0;
  for (const { kind, node, subject, principal: reason } of truth) {
    if (kind !== "hold" || reason !== "get") continue;
    const before = holders.get(subject);
    if (before !== undefined && before !== node) count++;
    holders.set(subject, node);
  }
  return count;
}

/** Counts the ends of calls by what their clients were told. */
export function countVerdicts(calls) {
  const counts = {
    result: 0,
    cancelled: 0,
    "failed in its handler": 0,
    "unknown outcome": 0,
    "not delivered": 0,
    "timed out": 0,
  };
  for (const { settlements } of calls) for (const settlement of settlements) counts[verdictOf(settlement)]++;
  return counts;
}

/** Returns how a call ended, in the words of a report. */
export function verdictOf({ how, delivery, name }) {
  if (how === "result" || how === "cancelled") return how;
  if (how === "failed") return "failed in its handler";
  if (delivery === "not_sent" || delivery === "refused") return "not delivered";
  return name === "TimeoutError" ? "timed out" : "unknown outcome";
}
