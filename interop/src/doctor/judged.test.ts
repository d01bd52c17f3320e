import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { compareFindings, type Judged, type Told } from "./judged.js";

const finding: Told = {
  rule: "catalogue/text",
  level: "note",
  place: "moor.berth",
  text: "1 parameter without a description: moor.berth",
  evidence: [{ line: 7, text: '{"k":"frame"}' }],
};
const judged: Judged = {
  server: "harbour",
  rule: "catalogue/text",
  place: "moor.berth",
  says: "1 parameter without",
  verdict: "Line 7 has no text.",
};

const compare = (findings: readonly Told[], ...list: readonly Judged[]) =>
  compareFindings(new Map([["harbour", findings]]), list);

test("a finding that was judged, and has a line, is in order", () => {
  deepEqual(compare([finding], judged), { doubts: [], missing: [] });
  deepEqual(compare([finding], { ...judged, server: "*", sometimes: true }), { doubts: [], missing: [] });
});

test("a finding of another rule, place, text or server was not judged", () => {
  const others = [
    { ...judged, rule: "catalogue/hints" },
    { ...judged, place: "moor" },
    { ...judged, says: "2 parameters" },
    { ...judged, server: "pilot" },
  ];
  const problem = "not judged";
  deepEqual(compare([finding], ...others).doubts, [{ server: "harbour", finding, problem }]);
});

test("a finding without a line, or with one that is not in the recording, is in doubt", () => {
  const problem = "no line of evidence";
  for (const evidence of [[], [{ line: 7, text: "" }]]) {
    const bare = { ...finding, evidence };
    deepEqual(compare([bare], judged).doubts, [{ server: "harbour", finding: bare, problem }]);
  }
});

test("a judged finding is missing if its server was examined, unless it has sometimes", () => {
  deepEqual(compare([], judged).missing, [judged]);
  deepEqual(compare([], { ...judged, sometimes: true }).missing, []);
  deepEqual(compare([], { ...judged, server: "pilot" }).missing, []);
});
