import type { ErrorFacts, Facts, TrialFacts } from "../facts.js";
import type { Problem, Rule } from "../rule.js";
import { spokenEras } from "./era.js";
import { exchangeLines, linesOf, quoted } from "./words.js";

/** Time without a message after which hosts give up. */
const SILENT_MS = 60_000;

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

/**
 * Codes for what does not exist, the expected one first. Versions differ in that of a resource, and clients know both. A tool
 * call without a valid name is no request at all, or contradicts its header.
 */
const CODES: Readonly<Record<ErrorFacts["of"], readonly number[]>> = {
  method: [METHOD_NOT_FOUND],
  resource: [INVALID_PARAMS, -32002],
  prompt: [INVALID_PARAMS],
  tool: [INVALID_PARAMS],
  argument: [INVALID_PARAMS, -32600, -32020],
};

const REQUIREMENTS: Partial<Record<ErrorFacts["of"], string>> = {
  method: "protocol:error:method-not-found",
  tool: "tools:call:unknown-name",
  argument: "tools:call:malformed-request",
};

const WHAT: Readonly<Record<ErrorFacts["of"], string>> = {
  method: "an unknown method",
  resource: "an unknown resource",
  prompt: "an unknown prompt",
  tool: "a call to an unknown tool",
  argument: "a tool call whose name is a number",
};

/** Rules of requests and calls. */
export const CALL: readonly Rule[] = [
  {
    id: "call/errors",
    finds: "a wrong error for an unknown method, resource, prompt or tool",
    remedy: "Answer an unknown method with -32601, and an unknown tool, prompt or resource with -32602.",
    needs: [],
    check: (facts) => {
      const asked = spokenEras(facts).flatMap(({ errors = [] }) => errors);
      if (asked.length === 0) return undefined;
      const seen = new Set<string>();
      return asked.flatMap((error) => {
        if (seen.has(error.of)) return [];
        const problem = wrongError(error);
        if (problem !== undefined) seen.add(error.of);
        return problem === undefined ? [] : [problem];
      });
    },
  },
  {
    id: "call/cancel",
    finds: "messages about a call after its cancellation, or a server that is busy with it",
    remedy: "Pass the signal of a call to what it waits for, and send nothing after it is aborted.",
    needs: ["try"],
    requirement: "protocol:cancel:in-flight",
    check: ({ trial }) => {
      const { cancelled } = trial ?? {};
      if (trial === undefined || cancelled === undefined) return undefined;
      const { answers, progress, isResponsive } = cancelled;
      const place = quoted(trial.tool.name);
      const problems: Problem[] = [];
      if (answers.length > 0)
        problems.push({ level: "warning", place, text: "a cancelled call is answered", lines: answers });
      if (progress.length > 0)
        problems.push({
          level: "warning",
          place,
          text: `a cancelled call still sends progress (${progress.length} times)`,
          lines: progress,
        });
      if (!isResponsive)
        problems.push({
          level: "error",
          place,
          text: "after a cancellation the server does not answer other requests",
        });
      return problems;
    },
  },
  {
    id: "call/silence",
    finds: "a call with more than 60 s without a message, after which hosts give up",
    remedy: "Report progress at least every 30 s, or return a task.",
    needs: ["try"],
    check: ({ trial }) => {
      if (trial === undefined) return undefined;
      const { silenceMs, line } = trial.call;
      if (silenceMs <= SILENT_MS) return [];
      const text = `the call was silent for ${Math.round(silenceMs / 1000)} s; hosts give up after 60 s`;
      return [{ level: "warning", place: quoted(trial.tool.name), text, lines: linesOf(line) }];
    },
  },
  {
    id: "call/progress",
    finds: "progress that does not increase, or that has the token of another call",
    remedy: "Send increasing values, with the token of the request.",
    needs: ["try"],
    check: ({ trial }) => {
      if (trial === undefined || trial.call.token === undefined) return undefined;
      return progressProblems(trial);
    },
  },
];

function wrongError({ of, outcome, code, message, ...answer }: ErrorFacts): Problem | undefined {
  const place = WHAT[of];
  const requirement = REQUIREMENTS[of];
  const found = (level: Problem["level"], text: string): Problem => ({
    level,
    place,
    text,
    lines: exchangeLines(answer),
    ...(requirement && { requirement }),
  });
  const [first, ...others] = CODES[of];
  const expected = of === "resource" ? [first, ...others].join(" or ") : first;
  if (outcome === "silent") return found("error", `${WHAT[of]} is not answered: a client waits for its time limit`);
  if (outcome === "result") return found("warning", `${WHAT[of]} gets a result in place of the error ${expected}`);
  if (code === undefined) return found("warning", `${WHAT[of]} gets no JSON-RPC error (${quoted(message ?? "")})`);
  return CODES[of].includes(code)
    ? undefined
    : found("warning", `${WHAT[of]} gets the error ${code} in place of ${expected}`);
}

function progressProblems({ tool, call }: TrialFacts): Problem[] {
  const place = quoted(tool.name);
  const foreign = call.progress.filter(({ token }) => token !== call.token);
  const own = call.progress.filter(({ token }) => token === call.token);
  const falling = own.filter(({ progress }, index) => {
    const before = own[index - 1]?.progress;
    return typeof progress !== "number" || (typeof before === "number" && progress <= before);
  });
  const problems: Problem[] = [];
  if (foreign.length > 0)
    problems.push({
      level: "error",
      place,
      text: `progress has the token ${JSON.stringify(foreign[0]?.token)}, and the call has ${JSON.stringify(call.token)}: clients drop it`,
      lines: foreign.map(({ line }) => line),
      requirement: "protocol:progress:token-echo",
    });
  if (falling.length > 0)
    problems.push({
      level: "warning",
      place,
      text: `progress does not increase (${JSON.stringify(own.map(({ progress }) => progress).slice(0, 8))})`,
      lines: falling.map(({ line }) => line),
      requirement: "protocol:progress:monotonic",
    });
  return problems;
}

/** Rules of the end of a server during a call. */
export const DRAIN: readonly Rule[] = [
  {
    id: "drain/term",
    finds: "a call that is lost when the process gets SIGTERM, or a process that does not end then",
    remedy: "At SIGTERM accept no further calls, finish those that run, and exit with code 0.",
    needs: ["process", "try"],
    check: ({ drain, wire }: Facts) => {
      if (drain === undefined) return undefined;
      const { answered, ms, code, signal, line } = drain;
      const lines = linesOf(line);
      const problems: Problem[] = [];
      if (ms === undefined)
        problems.push({
          level: "warning",
          place: "SIGTERM",
          text: "the process does not end within 10 s of SIGTERM",
          lines,
        });
      // A host ends the input of a process first. SIGTERM is how platforms end a server of many clients.
      if (!answered && wire === "http")
        problems.push({
          level: "warning",
          place: "SIGTERM",
          text: `a running call is lost when the process gets SIGTERM (it ended by ${signal ?? `code ${code}`}${ms === undefined ? "" : ` after ${Math.round(ms)} ms`})`,
          lines,
        });
      if (answered && code !== null && code !== 0 && code !== 143)
        problems.push({
          level: "note",
          place: "SIGTERM",
          text: `after SIGTERM the process exits with code ${code}`,
          lines,
        });
      return problems;
    },
  },
  {
    id: "drain/refuse",
    finds: "connections that are accepted and dropped while the process ends",
    remedy: "Stop listening first, and answer the requests of the connections that are open.",
    needs: ["process", "try"],
    check: ({ drain }: Facts) => {
      if (drain?.dropped === undefined) return undefined;
      // One connection may meet the very end of the process.
      if (drain.dropped <= 1) return [];
      const text = `while it ends, the process accepts connections and drops them (${drain.dropped} times)`;
      return [{ level: "warning", place: "SIGTERM", text }];
    },
  },
];
