import { type Check, checks, moreChecks, type Session, VERSIONS } from "./checks.js";
import { openBowline } from "./clients/bowline.js";
import { openProcess } from "./clients/process.js";
import { openV1 } from "./clients/v1.js";
import { openV2 } from "./clients/v2.js";
import type { Answers, Driver, ElicitReply, OpenDriver } from "./driver.js";
import { nameOf, type Pair, type Sdk } from "./matrix.js";
import type { PeerSdk } from "./peers.js";
import { type Served, startServer } from "./server-process.js";

export interface Outcome {
  /** `client -> server mode era`. */
  readonly pair: string;
  readonly check: string;
  /** Reason of a failure; undefined if the check passed. */
  readonly problem: string | undefined;
  readonly ms: number;
}

const OPEN: Readonly<Record<Sdk, OpenDriver>> = {
  bowline: openBowline,
  v1: openV1,
  v2: openV2,
  python: inProcess("python"),
  fastmcp: inProcess("fastmcp"),
  go: inProcess("go"),
  rust: inProcess("rust"),
  java: inProcess("java"),
};
const LIMIT_MS = 20_000;
/** Processes start slowly on a busy machine. */
export const START_MS = 60_000;

/** Runs all checks of a pair on one connection, then negotiation and the end of the server. */
export async function runPair(pair: Pair): Promise<Outcome[]> {
  const name = nameOf(pair);
  const outcomes: Outcome[] = [];
  const started: Served[] = [];
  outcomes.push(
    await runCheck(name, "start", async () => void started.push(await startServer(pair.server, pair.mode)), START_MS),
  );
  for (const served of started) {
    try {
      outcomes.push(...(await runChecks(pair, served)));
      outcomes.push(await runCheck(name, "auto", () => checkAuto(pair, served), START_MS));
    } catch (error) {
      outcomes.push({ pair: name, check: "connect", problem: describe(error), ms: 0 });
    }
    outcomes.push(await runCheck(name, "stop", () => served.close(), START_MS));
  }
  return outcomes;
}

async function runChecks(pair: Pair, served: Served): Promise<Outcome[]> {
  const { answers, answer } = createAnswers();
  const name = nameOf(pair);
  const driver = await within(OPEN[pair.client](served.target, pair.era, answers), START_MS);
  const session: Session = { driver, era: pair.era, answer };
  const outcomes: Outcome[] = [];
  const turn = (check: Check) => (pair.late.includes(check.name) ? 1 : 0);
  const all = [...checks, ...moreChecks.filter((check) => pair.adds.includes(check.name))];
  const wanted = all.filter((check) => !pair.lacks.includes(check.name)).sort((a, b) => turn(a) - turn(b));
  for (const { name: check, run } of wanted) outcomes.push(await runCheck(name, check, () => run(session)));
  outcomes.push(await runCheck(name, "close", () => checkClose(driver)));
  const { sessionId } = driver;
  if (pair.adds.includes("end") && sessionId !== undefined && served.target.wire === "http") {
    const { url } = served.target;
    outcomes.push(await runCheck(name, "end", () => checkEnd(url, sessionId)));
  }
  return outcomes;
}

/** Runs a check with a time limit; never rejects. */
export async function runCheck(
  pair: string,
  check: string,
  work: () => Promise<void>,
  limitMs = LIMIT_MS,
): Promise<Outcome> {
  const begun = performance.now();
  const problem = await within(work(), limitMs).then(() => undefined, describe);
  return { pair, check, problem, ms: Math.round(performance.now() - begun) };
}

/** Checks that closing the client rejects a call under way. */
async function checkClose(driver: Driver): Promise<void> {
  const key = "closing";
  const call = driver.callTool("wait", { key }).then(
    () => "answered",
    () => "rejected",
  );
  await driver.callTool("seen", { key, what: "started" });
  await driver.close();
  if ((await call) !== "rejected") throw new Error("the call under way was answered although the client was closed");
}

/** Checks that no node knows a session that the client has ended. A node may take a moment to hear of it. */
async function checkEnd(url: string, sessionId: string): Promise<void> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  for (let refused = 0; refused < 4; ) {
    const response = await fetch(url, { method: "POST", headers: { ...headers, "mcp-session-id": sessionId }, body });
    await response.body?.cancel();
    refused = response.status === 404 ? refused + 1 : 0;
  }
}

/** Checks that negotiation selects the newest era that the client, the server and the gateway support. */
async function checkAuto(pair: Pair, served: Served): Promise<void> {
  const newest = VERSIONS[pair.newest];
  const driver = await OPEN[pair.client](served.target, "auto", createAnswers().answers);
  try {
    if (driver.version !== newest) throw new Error(`spoke ${driver.version} instead of ${newest}`);
    const { text } = await driver.callTool("echo", { text: "auto" });
    if (text !== "auto") throw new Error(`echo answered ${text}`);
  } finally {
    await driver.close();
  }
}

function inProcess(sdk: PeerSdk): OpenDriver {
  return (target, choice, answers) => openProcess(sdk, target, choice, answers);
}

function createAnswers(): { answers: Answers; answer: (reply: ElicitReply) => void } {
  let next: ElicitReply = { action: "decline" };
  const answers: Answers = {
    elicit: () => next,
    sample: (question) => `${question} bowline`,
    roots: [{ uri: "file:///harbour", name: "harbour" }],
  };
  const answer = (reply: ElicitReply) => {
    next = reply;
  };
  return { answers, answer };
}

async function within<T>(work: Promise<T>, limitMs = LIMIT_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing happened for ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
