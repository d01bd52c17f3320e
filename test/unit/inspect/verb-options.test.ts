import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Verb } from "#src/inspect/protocol.js";
import { assertVerb, VERB_NAMES } from "#src/inspect/verb-options.js";

const EXAMPLES: readonly Verb[] = [
  { do: "connect", server: 0, era: "auto", both: true },
  { do: "close", connection: 1 },
  { do: "list", connection: 1, what: "tools", fresh: true },
  { do: "call", connection: 1, name: "moor", arguments: { ship: "Maria", deep: { any: [null] } }, both: true },
  { do: "read", connection: 1, uri: "berth://n1" },
  { do: "prompt", connection: 1, name: "log-entry", arguments: { ship: "Maria" } },
  {
    do: "complete",
    connection: 1,
    ref: { type: "ref/prompt", name: "log-entry" },
    argument: { name: "ship", value: "M" },
    context: { arguments: { port: "Oslo" } },
  },
  { do: "watch", connection: 1, resources: ["berth://n1"] },
  { do: "unwatch", run: 3 },
  { do: "answer", c: 1, n: 1, result: { action: "accept", content: { sure: true } } },
  { do: "cancel", run: 3, reason: "enough" },
  { do: "task", connection: 1, id: "7f3a", act: "result" },
  {
    do: "faults",
    connection: 1,
    plan: { on: true, seed: 4711, match: { method: "tools/call" }, toClient: { cutAfter: 3 }, http: { status: 503 } },
    now: "stall",
    direction: "<",
  },
  { do: "doctor" },
  { do: "login", server: 0 },
  { do: "logout" },
  { do: "reveal", token: "access" },
  { do: "save", as: "recording" },
];

describe("verbs of the inspector", () => {
  test("accepts an example of each", () => {
    for (const example of EXAMPLES) assertVerb(JSON.parse(JSON.stringify(example)));
    assert.deepEqual(
      EXAMPLES.map((example) => example.do),
      VERB_NAMES,
    );
  });

  for (const [given, problem] of [
    [null, "POST do: do is missing"],
    [[], "POST do: do is missing"],
    ["call", "POST do: do is missing"],
    [{ do: 7 }, "POST do: do must be of type string, got number"],
    [{ do: "cal" }, 'got "cal"; did you mean "call"?'],
    [{ do: "__proto__" }, 'got "__proto__"'],
    [{ do: "constructor" }, 'got "constructor"'],
    [{ do: "call", connection: 1 }, "call: name is missing"],
    [{ do: "call", connection: -1, name: "moor" }, "call: connection must be a whole number of 0 or more, got -1"],
    [{ do: "call", connection: 1, name: "moor", argument: {} }, "did you mean arguments?"],
    [{ do: "call", connection: 1, name: "moor", arguments: [] }, "call: arguments must be of type object, got array"],
    [{ do: "prompt", connection: 1, name: "a", arguments: { ship: 7 } }, "prompt: arguments.ship must be"],
    [{ do: "list", connection: 1, what: "tool" }, 'did you mean "tools"?'],
    [{ do: "connect", era: "newest" }, "connect: era must be"],
    [{ do: "faults", connection: 1, plan: { on: true, toServer: { drops: 3 } } }, "did you mean drop?"],
    [{ do: "faults", connection: 1, plan: {} }, "faults: plan.on is missing"],
    [{ do: "complete", connection: 1, argument: { name: "a", value: "b" } }, "complete: ref is missing"],
  ] as const)
    test(`refuses ${JSON.stringify(given)}`, () => {
      assert.throws(
        () => assertVerb(given),
        (error: Error) => error.message.includes(problem) || assert.fail(error.message),
      );
    });

  test("refuses a member that is called __proto__", () => {
    const given: unknown = JSON.parse('{"do":"close","connection":1,"__proto__":{"run":1}}');
    assert.throws(() => assertVerb(given), /close: unknown option __proto__/);
  });
});
