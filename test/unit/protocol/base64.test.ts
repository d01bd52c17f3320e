import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { fromBase64Url, toBase64 } from "#src/protocol/base64.js";

test("bytes of any length are encoded and decoded", () => {
  for (const length of [0, 1, 2, 3, 24_575, 24_576, 24_577, 24_578, 49_153, 100_000]) {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 7) % 256);
    const text = toBase64(bytes);
    equal(text, Buffer.from(bytes).toString("base64"), `${length} bytes`);
    deepEqual(fromBase64Url(text), bytes);
  }
});
