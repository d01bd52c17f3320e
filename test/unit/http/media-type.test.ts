import { equal } from "node:assert/strict";
import { describe, it } from "node:test";
import { accepts, isEventStream, isJson } from "#src/http/media-type.js";

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
