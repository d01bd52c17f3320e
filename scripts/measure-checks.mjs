// Prints what the check of a realistic message costs. Needs a build: `npx tsc -b`.
import { legacyMethods } from "../dist/era/legacy/methods.js";
import { modernMethods } from "../dist/era/modern/methods.js";

const params = JSON.parse(`{
  "_meta": {
    "progressToken": "p-17",
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { "name": "skipper", "version": "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} }, "sampling": {} }
  },
  "name": "forecast",
  "arguments": { "city": "Oslo", "days": 3, "units": { "wind": "m/s", "temperature": "C" }, "tags": ["a", "b"] }
}`);
const result = JSON.parse(`{
  "resultType": "complete",
  "content": [
    { "type": "text", "text": "Rain, 7 degrees", "annotations": { "audience": ["user"], "priority": 0.5 } },
    { "type": "resource_link", "uri": "forecast://oslo", "name": "oslo", "mimeType": "application/json" }
  ],
  "structuredContent": { "celsius": 7 }
}`);
const tool = {
  name: "forecast",
  description: "Weather",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  annotations: { readOnlyHint: true },
};
const tools = { tools: Array.from({ length: 100 }, () => structuredClone(tool)), ttlMs: 0, cacheScope: "private" };

const cases = [
  ["modern tools/call params", modernMethods.get("tools/call").params, params],
  ["modern tools/call result", modernMethods.get("tools/call").result, result],
  ["modern tools/list result of 100", modernMethods.get("tools/list").result, tools],
  ["legacy tools/call params", legacyMethods.get("tools/call").params, params],
];

// All cases warm up together, so that the call sites have met many shapes, as in a server.
for (let round = 0; round < 2_000; round++) for (const [, check, value] of cases) assertFits(check, value);

for (const [name, check, value] of cases) {
  const times = Array.from({ length: 7 }, () => measure(check, value)).sort((a, b) => a - b);
  console.log(`${name.padEnd(34)} ${times[3].toFixed(0).padStart(7)} ns`);
}

function measure(check, value) {
  const rounds = 20_000;
  const start = process.hrtime.bigint();
  for (let round = 0; round < rounds; round++) assertFits(check, value);
  return Number(process.hrtime.bigint() - start) / rounds;
}

function assertFits(check, value) {
  const problem = check(value);
  if (problem !== undefined) throw new Error(`the sample does not fit: ${problem.path}`);
}
