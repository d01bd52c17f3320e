import { deepEqual, equal, match } from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { accepts, decodeHeaderValue, encodeHeaderValue, isEventStream, isJson } from "#src/http/headers.js";

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

describe("content types", () => {
  it("tells JSON by its parsed type", () => {
    for (const type of [
      "application/json",
      "application/json;charset=utf-8",
      "APPLICATION/JSON",
      ' application/json ; a="x,\\"y;"; b=1',
    ]) {
      equal(isJson(type), true, type);
    }
    for (const type of [
      undefined,
      null,
      "",
      "text/plain",
      "text/plain;a=application/json",
      "application/json, text/plain",
      "application/json; a=b, text/plain",
      "application/jsonx",
      "xapplication/json",
      "application/json-seq",
      'application/json; a="x',
      "application/json application/json",
    ]) {
      equal(isJson(type), false, String(type));
    }
  });

  it("tells an event stream", () => {
    equal(isEventStream("text/event-stream"), true);
    equal(isEventStream("Text/Event-Stream; charset=utf-8"), true);
    equal(isEventStream("text/event-streams"), false);
    equal(isEventStream("application/json"), false);
  });
});

describe("accepts", () => {
  const cases: ReadonlyArray<[accept: string | string[] | undefined, json: boolean, events: boolean]> = [
    [undefined, true, true],
    ["", false, false],
    ["application/json, text/event-stream", true, true],
    ["application/json", true, false],
    ["text/event-stream", false, true],
    ["*/*", true, true],
    ["application/*, text/*", true, true],
    ["application/*", true, false],
    ["TEXT/Event-Stream;q=0.1 , Application/JSON ; Q=1", true, true],
    ["*/*, text/event-stream;q=0", true, false],
    ["text/event-stream;q=0, */*", true, false],
    ["text/*;q=0, */*;q=0.1", true, false],
    ["text/*;q=0, text/event-stream;q=0.001", false, true],
    ["text/event-stream; q=0.000", false, false],
    ["text/event-stream;q=0.0001", false, true],
    ['application/json;profile="a,text/event-stream"', true, false],
    ['application/json;profile="a;q=0"', true, false],
    ['application/json;profile="\\",text/event-stream,"', true, false],
    ["application/json;charset=utf-8", true, false],
    [["application/json", "text/event-stream"], true, true],
    [["text/html"], false, false],
    ["application/jsonx, text/event-streaming", false, false],
    ["*", false, false],
    [",,application/json,", true, false],
  ];
  for (const [accept, json, events] of cases) {
    it(`reads ${JSON.stringify(accept)}`, () => {
      equal(accepts(accept, "application/json"), json);
      equal(accepts(accept, "text/event-stream"), events);
    });
  }
});
