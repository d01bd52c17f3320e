import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { honouredFilter, undeclared, undeclaredFor } from "#src/era/capabilities.js";
import { Steps } from "#src/journal/steps.js";

test("what was not declared is named, as deep as it was required", () => {
  equal(undeclared(undefined, {}), undefined);
  equal(undeclared({ roots: {} }, { roots: { listChanged: true } }), undefined);
  deepEqual(undeclared({ roots: {}, sampling: { tools: {} } }, { sampling: {} }), {
    roots: {},
    sampling: { tools: {} },
  });
  deepEqual(undeclared({ sampling: { tools: {} } }, { sampling: [] as never }), { sampling: { tools: {} } });
});

test("a question needs the capabilities of what it asks for", () => {
  const sample = (params: object) => ({ method: "sampling/createMessage", params }) as never;
  equal(undeclaredFor({ method: "roots/list" } as never, { roots: {} }), undefined);
  deepEqual(undeclaredFor({ method: "roots/list" } as never, {}), { roots: {} });
  deepEqual(undeclaredFor(sample({}), {}), { sampling: {} });
  equal(undeclaredFor(sample({}), { sampling: {} }), undefined);
  for (const params of [{ tools: [] }, { toolChoice: {} }]) {
    deepEqual(undeclaredFor(sample(params), { sampling: {} }), { sampling: { tools: {} } });
    equal(undeclaredFor(sample(params), { sampling: { tools: {} } }), undefined);
  }
  const context = sample({ includeContext: "thisServer" });
  deepEqual(undeclaredFor(context, { sampling: {} }), { sampling: { context: {} } });
  equal(undeclaredFor(context, { sampling: { context: {} } }), undefined);
  equal(undeclaredFor(context, { sampling: {} }, "2025-06-18"), undefined);
});

test("an empty object stands for forms, and pages need a capability of their own", () => {
  const ask = (mode?: string) =>
    ({ method: "elicitation/create", params: mode === undefined ? {} : { mode } }) as never;
  deepEqual(undeclaredFor(ask(), {}), { elicitation: {} });
  equal(undeclaredFor(ask(), { elicitation: {} }), undefined);
  equal(undeclaredFor(ask(), { elicitation: { form: {}, url: {} } }), undefined);
  deepEqual(undeclaredFor(ask(), { elicitation: { url: {} } }), { elicitation: { form: {} } });
  deepEqual(undeclaredFor(ask("url"), { elicitation: {} }), { elicitation: { url: {} } });
  equal(undeclaredFor(ask("url"), { elicitation: { url: {} } }), undefined);
});

test("of a filter as much is honoured as was asked for and can be served, each resource once", () => {
  const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true } as const;
  const able = { tools: { listChanged: true }, prompts: { listChanged: true } };
  const resources = { listChanged: true, subscribe: true };
  deepEqual(honouredFilter({ ...all, resourceSubscriptions: ["a:1", "a:2", "a:1"] }, { ...able, resources }), {
    ...all,
    resourceSubscriptions: ["a:1", "a:2"],
  });
  deepEqual(honouredFilter(all, { tools: {}, prompts: {}, resources: {} }), {});
  deepEqual(honouredFilter(all, {}), {});
  deepEqual(honouredFilter({}, { ...able, resources }), {});
  deepEqual(honouredFilter({ resourceSubscriptions: [] }, { resources }), {});
  deepEqual(honouredFilter({ resourceSubscriptions: ["a:1"] }, { resources: { listChanged: true } }), {});
  deepEqual(honouredFilter({ resourceSubscriptions: ["a:1"] }, { resources }), { resourceSubscriptions: ["a:1"] });
  for (const [name, kind] of [
    ["toolsListChanged", "tools"],
    ["promptsListChanged", "prompts"],
    ["resourcesListChanged", "resources"],
  ] as const) {
    deepEqual(honouredFilter(all, { [kind]: { listChanged: true } }), { [name]: true });
    deepEqual(honouredFilter({ [name]: true }, { ...able, resources }), { [name]: true });
  }
});

test("a step runs once, also while it runs, and again if it failed", async () => {
  const steps = new Steps({ before: 1 });
  let runs = 0;
  equal(await steps.run("before", () => ++runs), 1);
  const work = async () => ++runs;
  deepEqual(await Promise.all([steps.run("a", work), steps.run("a", work)]), [1, 1]);
  equal(await steps.run("a", work), 1);
  const failing = steps.run("b", () => Promise.reject(new Error("no"))).catch(() => "failed");
  equal(steps.has("b"), true);
  await steps.settled();
  equal(await failing, "failed");
  equal(steps.has("b"), false);
  equal(await steps.run("b", work), 2);
  equal(await steps.run("nothing", () => undefined), undefined);
  deepEqual(steps.done, { before: 1, a: 1, b: 2, nothing: null });
});
