import { equal } from "node:assert/strict";
import { it } from "node:test";
import { countText, durationText, firstLine, labelOf, sizeText } from "#src/page/model/text.js";

it("durations have three digits at most", () => {
  const texts = {
    0: "0 µs",
    950: "950 µs",
    7234: "7.2 ms",
    19400: "19.4 ms",
    174321: "174 ms",
    1460000: "1.46 s",
    99900000: "99.9 s",
    251000000: "251 s",
  };
  for (const [us, text] of Object.entries(texts)) equal(durationText(Number(us)), text);
});

it("sizes and counts are written with their units", () => {
  for (const [size, text] of [
    [633, "633 B"],
    [2361, "2.4 kB"],
    [1_230_000, "1.2 MB"],
  ] as const)
    equal(sizeText(size), text);
  equal(countText(1, "call"), "1 call");
  equal(countText(12_000, "call"), "12,000 calls");
});

it("labels are what a person would say", () => {
  equal(labelOf({ lane: "calls", method: "tools/call", name: "moor" }), "call moor");
  equal(labelOf({ lane: "calls", method: "resources/read", name: "berth://n1" }), "read berth://n1");
  equal(labelOf({ lane: "session", method: "initialize", name: undefined }), "initialize");
  equal(labelOf({ lane: "auth", method: "token", name: "https://login.example.com/token" }), "token login.example.com");
  equal(labelOf({ lane: "stderr", method: "\nwarning: old\nmore", name: undefined }), "warning: old");
  equal(firstLine("x".repeat(300)).length, 201);
});
