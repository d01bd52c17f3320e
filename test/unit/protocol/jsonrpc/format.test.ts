import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { writeResult } from "#src/protocol/jsonrpc/format.js";

const text = { type: "text", text: "hello" };

class Block {
  readonly type = "text";
  readonly text = "shown";

  toJSON(): object {
    return { type: "text", text: "written" };
  }
}

const results: readonly { readonly [member: string]: unknown }[] = [
  { content: [text] },
  { content: [{ text: "the other way round", type: "text" }] },
  { content: [{ type: "text", text: '"quoted"\n\u2028 \ud800 \u0000' }] },
  { content: [{ type: "text", text: "" }] },
  { content: [] },
  { content: [text, text] },
  { content: [null] },
  { content: ["text"] },
  { content: "text" },
  { content: [{ type: "text" }] },
  { content: [{ type: "text", text: 1 }] },
  { content: [{ type: "text", text: undefined, other: "member" }] },
  { content: [{ type: "image", text: "hello" }] },
  { content: [{ ...text, annotations: { priority: 1 } }] },
  { content: [{ ...text, annotations: undefined }] },
  { content: [text], isError: true },
  { content: [text], _meta: undefined },
  { content: [new Block()] },
  { content: [text], toJSON: () => ({ content: [] }) },
  { content: Object.assign([text], { toJSON: () => [] }) },
  { content: Object.defineProperty([text], "toJSON", { value: () => [] }) },
  { structuredContent: 1 },
  {},
];

test("a result is written as JSON writes it", () => {
  for (const result of results) {
    deepEqual(JSON.parse(writeResult(result) as string), JSON.parse(JSON.stringify(result)), JSON.stringify(result));
  }
});

test("a text is read once, as JSON reads it", () => {
  let reads = 0;
  const block = {
    type: "text",
    get text() {
      return `read ${++reads}`;
    },
  };
  equal(writeResult({ content: [block] }), JSON.stringify({ content: [{ type: "text", text: "read 1" }] }));
});

test("what JSON cannot hold is no text", () => {
  equal(writeResult({ toJSON: () => undefined }), undefined);
});
