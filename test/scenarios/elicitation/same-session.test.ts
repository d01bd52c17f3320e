import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import type { ArrayExchange } from "#src/testing/array-exchange.js";
import {
  isDone,
  LegacyEndpoint,
  type Message,
  messages,
  settle,
  textOf,
  until,
} from "../../support/legacy-endpoint.js";
import { proves } from "../../support/verifies.js";

const FORM = { elicitation: { form: {} } };
const schema = { type: "object", properties: { name: { type: "string" } } } as const;

function harbour() {
  const endpoint = new LegacyEndpoint();
  endpoint.server.tool("ask", {}, async (_, ctx) => {
    const { action, content } = (await ctx.elicit("Who?", schema)) as { action: string; content?: { name?: string } };
    return `${action} ${content?.name}`;
  });
  return endpoint;
}

/** The question that a call's stream carries, once it does. */
async function questionOn(call: ArrayExchange): Promise<Message> {
  const asked = () => messages(call).find(({ method }) => method === "elicitation/create");
  await until(() => asked() !== undefined, "the question");
  return asked() as Message;
}

const answerTo = ({ id }: Message, name: string): Message => {
  return { jsonrpc: "2.0", id: id ?? null, result: { action: "accept", content: { name } } };
};

proves(
  "elicitation:legacy:response-from-same-session",
  { wire: "legacy-http" },
  "a forged answer of another session or user changes nothing",
  async () => {
    const endpoint = harbour();
    const alice = await endpoint.open("2025-11-25", FORM, { principal: "alice" });
    const mallory = await endpoint.open("2025-11-25", FORM, { principal: "mallory" });
    const secondOfAlice = await endpoint.open("2025-11-25", FORM, { principal: "alice" });
    const call = alice.call(1, "ask");
    const question = await questionOn(call);

    const forged = answerTo(question, "forged");
    for (const other of [mallory, secondOfAlice]) {
      notEqual(other.id, alice.id);
      other.post(forged);
      await settle();
      equal(await isDone(call), false);
    }
    for (const principal of ["mallory", undefined]) {
      const refused = endpoint.post(forged, { session: alice.id, principal });
      await refused.done;
      ok((refused.status ?? 0) >= 400, `refused with ${refused.status}`);
      equal(await isDone(call), false);
    }

    await alice.post(answerTo(question, "real")).done;
    await call.done;
    equal(textOf(messages(call).at(-1)), "accept real");
  },
);

proves(
  "elicitation:legacy:response-from-same-session",
  { wire: "legacy-http" },
  "each session's answer is its own, whatever the ids",
  async () => {
    const endpoint = harbour();
    const clients = [await endpoint.open("2025-11-25", FORM), await endpoint.open("2025-11-25", FORM)] as const;
    const calls = [clients[0].call(1, "ask"), clients[1].call(1, "ask")] as const;
    const questions = [await questionOn(calls[0]), await questionOn(calls[1])] as const;
    await clients[1].post(answerTo(questions[1], "second")).done;
    await calls[1].done;
    equal(await isDone(calls[0]), false);
    await clients[0].post(answerTo(questions[0], "first")).done;
    await calls[0].done;
    const said = calls.map((call) => textOf(messages(call).at(-1)));
    deepEqual(said, ["accept first", "accept second"]);
  },
);
