import { setTimeout as delay } from "node:timers/promises";
import { ConnectionError } from "bowline/client";

/** Maximum time until a change arrives, also in storms. */
const HEARD_MS = 40_000;
/** Errors of a tool whose question was lost with a connection, or was not answered in time. */
const QUESTION_LOST = /elicitation\/create|went away|timed? ?out|answer|question/i;

/**
 * Kinds of calls, each with its share. A kind makes one call, or a few that belong together, records how each ended,
 * and checks every result. `only` names the lanes that can make it.
 */
export const KINDS = [
  { share: 10, name: "echo", make: echo },
  { share: 3, name: "slow", make: slow },
  { share: 3, name: "steps", make: steps },
  { share: 2, name: "list", make: list },
  { share: 5, name: "abort", make: abort },
  { share: 3, name: "timeout", make: timeout },
  { share: 4, name: "ask", make: ask },
  { share: 2, name: "plan", make: plan },
  { share: 2, name: "abort question", make: abortQuestion },
  { share: 1, name: "sealed", make: sealed, only: ({ era }) => era === "modern" },
  { share: 2, name: "watch", make: watch },
  { share: 1, name: "resume", make: resume, only: ({ resumable }) => resumable },
];

async function echo(lane) {
  const key = lane.nextKey();
  const text = "é猫🦊x".repeat(lane.random.below(lane.random.chance(0.05) ? 4_000 : 40));
  await lane.attempt("echo", { key }, async (client) => {
    const outcome = await client.callTool("echo", { text, key });
    return outcome.text === text ? undefined : `answered with ${outcome.text.slice(0, 100)}`;
  });
}

async function slow(lane) {
  const key = lane.nextKey();
  await lane.attempt("slow", { key }, async (client) => {
    const { text } = await client.callTool("slow", { ms: lane.random.below(20), key });
    return text === "slept" ? undefined : `answered with ${text}`;
  });
}

async function steps(lane) {
  const count = 1 + lane.random.below(8);
  const heard = [];
  await lane.attempt("steps", {}, async (client) => {
    const onProgress = ({ progress }) => heard.push(progress);
    const { text } = await client.callTool("steps", { count }, { onProgress });
    const grows = heard.every((progress, index) => index === 0 || progress > heard[index - 1]);
    return text === "done" && grows ? undefined : `answered with ${text} after ${heard.join(" ")}`;
  });
}

async function list(lane) {
  await lane.attempt("tools/list", {}, async (client) => {
    const { tools } = await client.listTools(undefined, { cache: "bypass" });
    return tools.some(({ name }) => name === "echo") ? undefined : "lists no echo";
  });
  await lane.attempt("resources/read", {}, async (client) => {
    const uri = `soak://item/${lane.random.below(100)}`;
    const { contents } = await client.readResource(uri, { cache: "bypass" });
    return contents[0]?.uri === uri ? undefined : `reads ${contents[0]?.uri}`;
  });
}

/** Aborts a call before it is sent, while it is sent, or while it runs. */
async function abort(lane) {
  const control = new AbortController();
  const reason = new Error("enough");
  const when = lane.random.below(4);
  if (when === 0) control.abort(reason);
  await lane.attempt("abort", { reason }, async (client) => {
    const call = client.callTool("hold", {}, { signal: control.signal });
    if (when === 1) control.abort(reason);
    else if (when === 2) setImmediate(() => control.abort(reason));
    else if (when === 3) setTimeout(() => control.abort(reason), lane.random.below(15));
    return `answered with ${(await call).text}`;
  });
}

async function timeout(lane) {
  // While a question is open on a shared channel, the timeouts of all its calls are suspended.
  const limit = lane.sharesChannel || lane.random.chance(0.5) ? "deadlineMs" : "timeoutMs";
  await lane.attempt("timeout", { timeout: true }, async (client) => {
    return `answered with ${(await client.callTool("hold", {}, { [limit]: 1 + lane.random.below(20) })).text}`;
  });
}

/** Asks questions that are answered: as requests in the legacy era, with sealed state in the modern era. */
async function ask(lane) {
  const questions = Array.from({ length: 1 + lane.random.below(3) }, (_, index) => `question ${index}`);
  const wanted = questions.map((question) => lane.answerTo(question).content?.answer ?? "decline").join(" ");
  await lane.attempt("ask", {}, async (client) => {
    const { text, isError } = await client.callTool("ask", { questions });
    if (isError && lane.stormy && QUESTION_LOST.test(text))
      throw new ConnectionError(text, { delivery: "answer_lost" });
    return text === wanted ? undefined : `answered with ${text}`;
  });
}

/** Checks that a step runs once, however many rounds its call has. */
async function plan(lane) {
  const key = lane.nextKey();
  await lane.attempt("plan", { key }, async (client) => {
    const { text, isError } = await client.callTool("plan", { key });
    if (isError && lane.stormy && QUESTION_LOST.test(text))
      throw new ConnectionError(text, { delivery: "answer_lost" });
    return text.startsWith(`drawn ${key}`) ? undefined : `answered with ${text}`;
  });
}

/** Aborts a call while the user is being asked. The handler of the question is told. */
async function abortQuestion(lane) {
  const control = new AbortController();
  const reason = new Error("enough of questions");
  await lane.attempt("abort question", { reason }, async (client) => {
    const call = client.callTool("ask", { questions: ["never"] }, { signal: control.signal });
    call.catch(() => {});
    await lane.questions.asked(call, 2_000);
    control.abort(reason);
    return `answered with ${(await call).text}`;
  });
}

/** Sends the same sealed state twice. The second request gets the outcome of the first. */
async function sealed(lane) {
  const params = { name: "ask", arguments: { questions: ["once"] } };
  await lane.attempt("sealed", {}, async (client) => {
    const manual = { input: "manual" };
    const first = await client.request("tools/call", params, manual);
    const [key] = Object.keys(first.inputRequests ?? {});
    if (key === undefined) return `${JSON.stringify(first).slice(0, 200)} asks nothing`;
    const inputResponses = { [key]: { action: "accept", content: { answer: "sealed" } } };
    const again = { ...params, inputResponses, requestState: first.requestState };
    const outcomes = [];
    for (let time = 0; time < 2; time++) outcomes.push(await client.request("tools/call", again, manual));
    const texts = outcomes.map(({ content }) => content?.[0]?.text);
    return texts.every((text) => text === "sealed") ? undefined : `answered with ${texts.join(", ")}`;
  });
}

/** Waits for a change, also after a storm. */
async function watch(lane) {
  const uri = `soak://item/${lane.random.below(4)}`;
  await lane.attempt("watch", {}, async (client) => {
    const resubscribe = { attempts: 1_000, delayMs: 10, maxDelayMs: 100 };
    const watching = await client.watch({ resources: [uri] }, { resubscribe });
    let heard = false;
    const listening = (async () => {
      for await (const change of watching) if (change.kind === "resync" || change.uri === uri) return;
    })().finally(() => {
      heard = true;
    });
    listening.catch(() => {});
    try {
      const begun = performance.now();
      while (!heard) {
        await lane.attempt("change", {}, async () => void (await client.callTool("change", { uri })));
        await Promise.race([listening, delay(20)]);
        if (performance.now() - begun > HEARD_MS) return `hears nothing of ${uri} for ${HEARD_MS} ms`;
      }
      await listening;
    } finally {
      await watching.close();
    }
  });
}

/** Begins a call with one client and reads its result with another. */
async function resume(lane) {
  let token;
  await lane.attempt("resume", {}, async () => {
    const first = await lane.dial();
    const control = new AbortController();
    try {
      const told = new Promise((resolve) => {
        token = resolve;
      });
      const lost = first.callTool("slow", { ms: 30 }, { onResumable: (one) => token(one), signal: control.signal });
      const given = await Promise.race([told, lost.then(() => undefined)]);
      await first.close({ keepSession: true });
      await lost.catch(() => {});
      if (given === undefined) return undefined;
      const second = await lane.dial({ session: given.session });
      try {
        const { text } = await second.callTool("slow", { ms: 30 }, { resume: given });
        return text === "slept" ? undefined : `answered with ${text}`;
      } finally {
        await second.close();
      }
    } finally {
      await first.close();
    }
  });
}
