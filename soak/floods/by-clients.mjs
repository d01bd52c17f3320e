import { FLOOD_MS } from "../app.mjs";
import { clientLimits, serverLimits, TIMES } from "../limits.mjs";
import { isRefusal, REFUSED } from "../tally.mjs";
import { PRINCIPAL } from "../wires/http.mjs";
import { heldFor, until, withGuest } from "./flood.mjs";

/** Error of a question without a response. A client does not respond to questions far above its limit. */
const UNHEARD = /nothing received/;

/** Floods with running calls. Calls above the limit are refused; the others end with the signal. */
export function floodCalls(lane, tally) {
  const { maxCalls, maxCallsPerSession } = serverLimits;
  return hold(lane, tally, lane.hasSessions ? maxCallsPerSession : maxCalls, {});
}

/** Floods with calls of one principal. Calls of others are served in the meantime. */
export async function floodCallsOfPrincipal(lane, tally) {
  const ping = () => lane.attempt("call in a flood of another's", {}, async (client) => void (await client.ping()));
  await hold(lane, tally, serverLimits.maxCallsPerPrincipal, { headers: { [PRINCIPAL]: "flood" } }, ping);
}

async function hold(lane, tally, bound, options, meanwhile = async () => {}) {
  const total = TIMES * bound;
  await withGuest(lane, options, async (guest) => {
    const control = new AbortController();
    const reason = new Error("the flood is over");
    let refused = 0;
    const call = () =>
      lane.attempt("flood of calls", { reason, refused: true }, async () => {
        try {
          await guest.callTool("hold", { ms: FLOOD_MS }, { signal: control.signal });
          return "answered";
        } catch (error) {
          if (isRefusal(error)) refused++;
          throw error;
        }
      });
    const calls = Array.from({ length: total }, call);
    await until(lane, `${total - bound} of ${total} calls are refused`, () => refused >= total - bound);
    await meanwhile();
    control.abort(reason);
    await Promise.all(calls);
    if (refused > total - bound) lane.tally.surprise(lane.doing, `${refused} of ${total} calls are refused`);
    tally.count(total, total - refused, refused);
  });
}

/** Floods with subscriptions: streams in the modern era, resources of a session in the legacy era. */
export async function floodSubscriptions(lane, tally) {
  const bound = serverLimits.maxSubscriptions;
  const total = TIMES * bound;
  await withGuest(lane, {}, async (guest) => {
    const watches = [];
    let refused = 0;
    const open = (_, index) =>
      lane.attempt("flood of subscriptions", { refused: true }, async () => {
        try {
          watches.push(await guest.watch({ resources: [`soak://item/${index}`] }, { resubscribe: false }));
        } catch (error) {
          if (isRefusal(error)) refused++;
          throw error;
        }
      });
    await Promise.all(Array.from({ length: total }, open));
    if (watches.length > bound)
      lane.tally.surprise(lane.doing, `${watches.length} subscriptions are open, not ${bound}`);
    await Promise.all(watches.map((watch) => watch.close()));
    tally.count(total, watches.length, refused);
  });
}

/** Floods with notifications whose handlers have not ended. Notifications above the limit are dropped. */
export async function floodNotifications(lane, tally) {
  const bound = lane.hasSessions ? serverLimits.maxWaitingNotifications : serverLimits.maxCalls;
  const total = TIMES * bound;
  await withGuest(lane, {}, async (guest) => {
    await Promise.all(Array.from({ length: total }, () => guest.notify("notifications/soak/note", {})));
    await until(lane, "the notifications of a flood are taken", async () => (await heldFor(guest)).notes >= bound);
    const { notes } = await heldFor(guest);
    if (notes > bound) lane.tally.surprise(lane.doing, `${notes} notifications wait, not ${bound}`);
    await guest.callTool("release");
    await until(lane, "the notifications of a flood are done", async () => (await heldFor(guest)).notes === 0);
    tally.count(total, notes, total - notes);
  });
}

/** Floods the client with questions. It refuses those above the limit. */
export async function floodQuestions(lane, tally) {
  const bound = clientLimits.maxQuestions;
  const count = TIMES * bound;
  lane.questions.most = 0;
  await withGuest(lane, {}, async (guest) => {
    let refused = 0;
    let over = false;
    const asked = lane
      .attempt("flood of questions", { refused: true }, async () => {
        try {
          const { structured, text, isError } = await guest.callTool("ask-at-once", { count });
          if (isError) return `answered with ${text}`;
          refused = structured.refused.length;
          const odd = structured.refused.find((message) => !REFUSED.test(message) && !UNHEARD.test(message));
          return odd === undefined ? undefined : `a question is refused with ${odd}`;
        } catch (error) {
          if (isRefusal(error)) refused = count;
          throw error;
        }
      })
      .finally(() => {
        over = true;
      });
    await until(lane, "the questions of a flood are open or refused", () => {
      const isFull = lane.questions.open >= bound;
      if (isFull) lane.questions.release();
      return isFull || over;
    });
    while (!over) {
      lane.questions.release();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await asked;
    if (lane.questions.most > bound)
      lane.tally.surprise(lane.doing, `${lane.questions.most} questions are open at once, not ${bound}`);
    tally.count(count, count - refused, refused);
  });
}

/** Floods one call with rounds of questions. */
export async function floodRounds(lane, tally) {
  const questions = Array.from({ length: TIMES * serverLimits.maxRounds }, (_, index) => `question ${index}`);
  let refused = 0;
  await withGuest(lane, {}, (guest) =>
    lane.attempt("flood of rounds", { refused: true }, async () => {
      try {
        const { isError, text } = await guest.callTool("ask", { questions });
        if (isError && /rounds/.test(text)) refused = 1;
        return refused === 1 ? undefined : `answered with ${text}`;
      } catch (error) {
        if (isRefusal(error)) refused = 1;
        throw error;
      }
    }),
  );
  tally.count(1, 1 - refused, refused);
}
