import { deepEqual, equal, match } from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { decodeHeaderValue, encodeHeaderValue } from "#src/http/header-value.js";

describe("a header value", () => {
  const FORMS: readonly [value: string | number | boolean, text: string][] = [
    ["us-west1", "us-west1"],
    ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
    [" padded ", "=?base64?IHBhZGRlZCA=?="],
    ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
    ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
    ["a\tb", "=?base64?YQli?="],
    ["a b", "a b"],
    ["", ""],
    ["=?base64?abc", "=?base64?abc"],
    ["abc?=", "abc?="],
    [42, "42"],
    [-7, "-7"],
    [0, "0"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    [true, "true"],
    [false, "false"],
  ];
  for (const [value, text] of FORMS) {
    it(`${JSON.stringify(value)} is written as ${text} and read back`, () => {
      equal(encodeHeaderValue(value), text);
      equal(decodeHeaderValue(text), String(value));
    });
  }

  it("survives the way through a header, whatever it is, and cannot split it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (value) => {
        const text = encodeHeaderValue(value);
        match(text, /^[\x20-\x7e]*$/);
        equal(text.trim(), text);
        equal(decodeHeaderValue(text), value);
      }),
    );
  });

  it("survives when made of arbitrary bytes below 0x100", () => {
    const bytes = fc.array(fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)));
    fc.assert(
      fc.property(bytes, (chars) => equal(decodeHeaderValue(encodeHeaderValue(chars.join(""))), chars.join(""))),
    );
  });

  it("replaces a lone surrogate", () => {
    equal(decodeHeaderValue(encodeHeaderValue("a\ud800")), "a\ufffd");
  });

  it("keeps a byte order mark", () => {
    equal(decodeHeaderValue(encodeHeaderValue("\ufeffa")), "\ufeffa");
  });

  it("is malformed with bad padding, a foreign alphabet, bytes that are no UTF-8, or control characters", () => {
    const texts = [
      "=?base64?YQ?=",
      "=?base64?YQ=?=",
      "=?base64?Y===?=",
      "=?base64?Y Q=?=",
      "=?base64?YQ-_?=",
      "=?base64?/w==?=",
      "a\u0000b",
      "é",
    ];
    deepEqual(
      texts.filter((text) => decodeHeaderValue(text) !== undefined),
      [],
    );
  });

  it("is literal with only the prefix, only the suffix, or a marker in other case", () => {
    const texts = ["=?base64?YQ==", "YQ==?=", "=?BASE64?YQ==?=", "=?base64?="];
    deepEqual(texts.map(decodeHeaderValue), texts);
  });

  it("is read without the white space around it", () => {
    equal(decodeHeaderValue(" \ta b \t"), "a b");
  });
});
