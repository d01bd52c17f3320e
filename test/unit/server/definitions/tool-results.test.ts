import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { McpServer, type ReportContext, text, toolResult } from "bowline/server";
import * as z from "zod";

const me = { name: "unit", version: "1.0.0" };
const counted = z.object({ n: z.number() });

/** Calls a tool that returns a value, and collects what the server reports. */
async function call(value: () => unknown, options: { output?: z.ZodType } = {}) {
  const reports: [unknown, ReportContext][] = [];
  const server = new McpServer(me, { onError: (...report) => reports.push(report) });
  server.tool("make", options as { output: typeof counted }, value as () => never);
  await using client = await connect(server);
  return { outcome: await client.callTool("make"), reports };
}

test("a tool with an output schema may return a result in the shape of the protocol", async () => {
  const server = new McpServer(me)
    .tool("both", { output: counted }, () => ({ content: [text("five")], structuredContent: { n: 5 } }))
    .tool("failed", { output: counted }, () => ({ content: [text("no")], isError: true }))
    // @ts-expect-error the structured content is checked against the schema
    .tool("wrong", { output: counted }, () => ({ content: [text("five")], structuredContent: { n: "5" } }));
  await using client = await connect(server);
  const both = await client.callTool("both");
  deepEqual([both.content, both.structured], [[text("five")], { n: 5 }]);
  const failed = await client.callTool("failed");
  deepEqual([failed.text, failed.isError], ["no", true]);
  match((await client.callTool("wrong")).text, /returned a value that does not match its output schema: \/n/);
});

test("a schema of optional members alone does not swallow such a result", async () => {
  const output = z.object({ n: z.number().optional() });
  const { outcome } = await call(() => ({ content: [text("six")], structuredContent: { n: 6 } }), { output });
  deepEqual([outcome.content, outcome.structured], [[text("six")], { n: 6 }]);
});

test("content alone is refused where the tool has an output schema", async () => {
  const { outcome } = await call(() => ({ content: [text("five")] }), { output: counted });
  deepEqual(
    [outcome.isError, outcome.text],
    [true, "Tool make returned no structuredContent, but has an output schema"],
  );
});

test("a value whose schema has content of its own is a value", async () => {
  const value = { content: [{ type: "text", text: "in a document" }] };
  const { outcome } = await call(() => value, { output: z.object({ content: z.array(z.unknown()) }) });
  deepEqual(outcome.structured, value);
});

test("content of an unknown type is refused with the types that there are", async () => {
  const typo = { type: "txt", text: "hello" };
  for (const value of [{ content: [typo] }, [text("a"), typo], toolResult({ content: [typo as never] })]) {
    const { outcome, reports } = await call(() => value);
    equal(outcome.isError, true);
    match(
      outcome.text,
      /content\/\d\/type must be text or image or audio or resource or resource_link; for data, use toolResult/,
    );
    equal(reports.length, 1);
  }
});

test("text without a text is refused", async () => {
  const { outcome } = await call(() => [{ type: "text", label: "Name" }]);
  deepEqual([outcome.isError, outcome.text.split(";")[0]], [true, "tool make: /content/0/text must be a string"]);
});

test("data that only resembles content stays data", async () => {
  const values = [
    { type: "circle", radius: 2 },
    { type: "doc", content: [{ type: "paragraph" }] },
    { content: [], totalPages: 0 },
    [{ type: "circle" }, { type: "square" }],
    { content: "words" },
    { content: [1, 2] },
  ];
  for (const value of values) deepEqual((await call(() => value)).outcome.structured, value);
});

const LOST: readonly [string, () => unknown, string][] = [
  ["a Map", () => new Map([["a", 1]]), "value is a Map"],
  ["a Set in an object", () => ({ tags: new Set(["a"]) }), "value/tags is a Set"],
  ["a promise in a list", () => ({ rows: [1, Promise.resolve(2)] }), "value/rows/1 is a Promise"],
  ["an error", () => ({ error: new Error("lost") }), "value/error is a Error"],
  ["bytes", () => ({ data: new Uint8Array([1, 2]) }), "value/data is a Uint8Array (bytes: use base64), or"],
  [
    "a Buffer",
    () => Buffer.from("x"),
    "value is a Buffer (bytes: use base64), or return them by image(), audio() or embedded(",
  ],
  [
    "a Buffer in a list",
    () => ({ files: [Buffer.from("x")] }),
    "value/files/0 is a Buffer (bytes: use base64), or return",
  ],
  ["a view", () => ({ data: new Float64Array(2) }), "value/data is a Float64Array"],
  ["an ArrayBuffer", () => new ArrayBuffer(2), "value is a ArrayBuffer (bytes: use base64), or return"],
  ["a method", () => ({ n: 1, next() {} }), "value/next is a function"],
  ["a symbol", () => ({ kind: Symbol("x") }), "value/kind is a symbol"],
  [
    "an object with private members alone",
    () =>
      new (class Secret {
        #n = 1;
        n() {
          return this.#n;
        }
      })(),
    "value is a Secret",
  ],
  ["a BigInt", () => ({ n: 1n }), "value/n is a bigint"],
  [
    "a cycle",
    () => {
      const a: { a?: unknown } = {};
      a.a = a;
      return a;
    },
    "value/a contains itself",
  ],
  [
    "a Map by hand",
    () => toolResult({ content: [text("x")], structuredContent: { m: new Map() } }),
    "value/m is a Map",
  ],
  [
    "a Buffer beside text",
    () => toolResult({ content: [text("x")], structuredContent: { file: Buffer.from("x") } }),
    "value/file is a Buffer",
  ],
];

for (const [title, make, words] of LOST) {
  test(`structured data that JSON loses is refused: ${title}`, async () => {
    const reports: unknown[] = [];
    const server = new McpServer(me, { onError: (error) => reports.push(error) }).tool("make", {}, make);
    await using client = await connect(server);
    await rejects(client.callTool("make"), { name: "RpcError", rpcCode: -32603 });
    match(String(reports[0]), /^TypeError: Tool "make" returned a value that JSON cannot represent: /);
    equal(String(reports[0]).includes(words), true, String(reports[0]));
  });
}

test("data is kept where it has a form in JSON", async () => {
  class Point {
    readonly x = 1;
  }
  const at = new Date(0);
  const value = {
    at,
    none: undefined,
    empty: {},
    bare: Object.create(null),
    point: new Point(),
    url: new URL("http://a/"),
  };
  const { structured } = (await call(() => value)).outcome;
  deepEqual(structured, { at: at.toJSON(), empty: {}, bare: {}, point: { x: 1 }, url: "http://a/" });
});
