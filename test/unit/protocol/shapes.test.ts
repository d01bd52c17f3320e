import { equal } from "node:assert/strict";
import { test } from "node:test";
import type { Check } from "#src/protocol/json.js";
import { clientCapabilities, completion, implementation, serverCapabilities } from "#src/protocol/shapes/common.js";
import { inputShapes, root } from "#src/protocol/shapes/input.js";

/** Each path with a value that fits there and one that does not. */
type Table = Readonly<Record<string, readonly [good: unknown, bad: unknown]>>;

/** Puts a value at a path such as `sampling/tools` into a copy. */
function put(base: object, path: string, value: unknown): object {
  const [head = "", ...rest] = path.split("/");
  const inner = (base as Record<string, unknown>)[head];
  return {
    ...base,
    [head]: rest.length === 0 ? value : put((inner as object | undefined) ?? {}, rest.join("/"), value),
  };
}

function checkEach(check: Check, base: object, table: Table): void {
  equal(check(base), undefined);
  for (const [path, [good, bad]] of Object.entries(table)) {
    equal(check(put(base, path, good)), undefined, path);
    equal(check(put(base, path, bad))?.path, `/${path}`, path);
  }
}

test("every member of the capabilities of a client is looked at", () => {
  checkEach(
    clientCapabilities,
    {},
    {
      experimental: [{ a: {} }, []],
      "experimental/a": [{}, true],
      roots: [{}, true],
      "roots/listChanged": [false, 1],
      sampling: [{}, []],
      "sampling/context": [{}, true],
      "sampling/tools": [{}, null],
      elicitation: [{}, "form"],
      "elicitation/form": [{}, true],
      "elicitation/form/applyDefaults": [true, "yes"],
      "elicitation/url": [{}, 1],
      tasks: [{}, true],
      extensions: [{}, []],
    },
  );
});

test("every member of the capabilities of a server is looked at", () => {
  checkEach(
    serverCapabilities,
    {},
    {
      experimental: [{ a: {} }, []],
      logging: [{}, true],
      completions: [{}, 1],
      prompts: [{}, []],
      "prompts/listChanged": [true, "true"],
      resources: [{}, true],
      "resources/subscribe": [true, 1],
      "resources/listChanged": [true, 1],
      "tools/listChanged": [true, {}],
      tasks: [{}, true],
      extensions: [{}, true],
    },
  );
});

test("a name and a version are needed, and the rest of an identity has its types", () => {
  const me = { name: "a", version: "1" };
  checkEach(implementation, me, {
    name: ["b", 1],
    version: ["2", undefined],
    title: ["t", 1],
    description: ["d", {}],
    websiteUrl: ["https://example.com", 1],
  });
});

test("every member of a request for a sample has its type and its bounds", () => {
  const check = inputShapes.get("sampling/createMessage")?.params as Check;
  const base = { messages: [{ role: "user", content: { type: "text", text: "x" } }], maxTokens: 1 };
  checkEach(check, base, {
    messages: [[], {}],
    maxTokens: [5, 1.5],
    "modelPreferences/hints": [[{ name: "a" }, {}], {}],
    "modelPreferences/costPriority": [1, 1.1],
    "modelPreferences/speedPriority": [0, -0.1],
    "modelPreferences/intelligencePriority": [0.5, "0.5"],
    systemPrompt: ["x", 1],
    includeContext: ["allServers", "all"],
    temperature: [0.5, "0.5"],
    stopSequences: [["a"], "a"],
    metadata: [{}, []],
    tools: [[], {}],
    "toolChoice/mode": ["required", "any"],
  });
  for (const [member, bad] of [
    ["costPriority", -0.1],
    ["speedPriority", 1.1],
    ["intelligencePriority", 1.1],
  ] as const) {
    equal(check(put(base, `modelPreferences/${member}`, bad))?.path, `/modelPreferences/${member}`);
    equal(check(put(base, `modelPreferences/${member}`, 1)), undefined);
    equal(check(put(base, `modelPreferences/${member}`, 0)), undefined);
  }
});

test("a root is an address of a file, and a completion has a hundred values at most", () => {
  checkEach(root, { uri: "file:///a" }, { uri: ["file:///b", "http://b"], name: ["a", 1], _meta: [{}, 1] });
  const values = (count: number) => Array.from({ length: count }, () => "a");
  checkEach(
    completion,
    { values: [] },
    {
      values: [values(100), values(101)],
      total: [1, 1.5],
      hasMore: [true, 1],
    },
  );
});
