import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { examine } from "#src/doctor/examine.js";
import type { EraFacts, Facts } from "#src/doctor/facts.js";
import { RULES } from "#src/doctor/rules/index.js";
import { type Cases, quote, testCases } from "./cases.js";
import { catalogue, eras, facts, HEALTHY_CALL, listing, MOOR, withTools } from "./facts.js";

/** Facts about a server that was not reached. */
const NOTHING: Facts = { wire: "http", scope: { now: 0 } };

const failure = {
  message: "the process exited with code 3",
  stderr: ["FOO is not set"],
  missing: [],
  startsWithAll: false,
};

function ending(end: object): Facts {
  const { processes = [] } = facts();
  return facts({ processes: [processes[0]!, { ...processes[1]!, end: { ...processes[1]!.end!, ...end } }] });
}

function output(more: object): Facts {
  const { processes = [] } = facts();
  return facts({ processes: processes.map((one) => ({ ...one, ...more })) });
}

function calling(call: object, more: object = {}): Facts {
  const { trial } = facts();
  return facts({ trial: { ...trial!, call: { ...HEALTHY_CALL, ...call }, ...more } });
}

function asked(error: NonNullable<EraFacts["errors"]>[number]): Facts {
  return facts({ eras: eras({ errors: [error] }) });
}

function configured(more: object): Facts {
  const entry = { name: "files", host: "cursor", file: "/home/me/mcp.json", relative: [], secrets: [] };
  return facts({ hosts: { problems: [], servers: [{ ...entry, ...more }] } });
}

const BIG = { type: "object", properties: { text: { type: "string", description: "x".repeat(2_000) } } };

const CASES: Readonly<Record<string, Cases>> = {
  "start/failed": {
    found: [
      [
        "ends",
        facts({ start: { failure: { ...failure, line: 4 } } }),
        ["error", /code 3; its last words: "FOO is not set"$/, [4]],
      ],
      [
        "needs a variable",
        facts({ start: { failure: { ...failure, missing: ["FOO"], startsWithAll: true } } }),
        ["error", /with your whole environment it starts, so it needs FOO$/],
      ],
    ],
    notApplicable: facts({ wire: "http" }),
  },
  "start/slow": {
    found: [
      ["2 s", facts({ start: { firstAnswerMs: 2_400, line: 3 } }), ["warning", /after 2\.4 s$/, [3]]],
      ["10 s", facts({ start: { firstAnswerMs: 11_000 } }), ["error", /after 11\.0 s$/]],
      ["npx", facts({ start: { firstAnswerMs: 3_000, launcher: "npx" } }), ["warning", /after 3\.0 s, through npx$/]],
    ],
    notApplicable: facts({ start: {} }),
  },
  "stdio/noise": {
    found: [
      [
        "a text, once",
        output({ noise: [{ text: "hello", line: 2 }] }),
        ["error", /no message: "hello"; some hosts/, [2]],
      ],
      [
        "two texts",
        output({
          noise: [
            { text: "hello", line: 2 },
            { text: "again", line: 4 },
          ],
        }),
        ["error", /"hello", and 1 more text;/, [2, 4]],
      ],
    ],
    notApplicable: NOTHING,
  },
  "stdio/exit": {
    found: [
      ["alive", ending({ ms: undefined }), ["warning", /alive 2 s after the end of its input, and had/, [30]]],
      [
        "while it asks",
        ending({ ms: undefined, asking: [{ method: "roots/list", line: 12 }] }),
        ["warning", /while its request roots\/list had no answer/, [12, 30]],
      ],
    ],
    fine: [["asks, and ends", ending({ asking: [{ method: "roots/list", line: 12 }] })]],
    notApplicable: output({ end: undefined }),
  },
  "stdio/orphans": {
    found: [["one", ending({ orphans: ["sleep"] }), ["warning", /left sleep running/, [30]]]],
    notApplicable: output({ end: undefined }),
  },
  "stdio/flood": {
    found: [["2 MiB", output({ stderrBytes: 2 * 1024 ** 2 }), ["warning", /^2\.0 MiB on stderr/, [30]]]],
    fine: [["1 MiB", output({ stderrBytes: 1024 ** 2 })]],
    notApplicable: NOTHING,
  },
  "era/versions": {
    found: [
      [
        "old alone",
        facts({ eras: eras({ outcome: "refused", version: undefined }) }),
        ["note", /speaks 2025-11-25; a host of 2026-07-28 alone/, [3]],
      ],
      ["HTTP+SSE", facts({ eras: eras({ isSse: true }) }), ["warning", /deprecated transport HTTP\+SSE/]],
    ],
    notApplicable: facts({ eras: eras().map((era) => ({ ...era, outcome: "silent" as const })) }),
  },
  "era/probe": {
    found: [
      ["ends", facts({ eras: eras({ outcome: "died" }) }), ["error", /ends at server\/discover/, [3]]],
      ["is silent", facts({ eras: eras({ outcome: "silent" }) }), ["warning", /does not answer server\/discover/]],
    ],
    fine: [["refuses", facts({ eras: eras({ outcome: "refused" }) })]],
    notApplicable: facts({ eras: eras().map((era) => ({ ...era, outcome: "died" as const })) }),
  },
  "era/same": {
    found: [
      [
        "another tool",
        withTools([MOOR, { ...MOOR, name: "tow" }]),
        ["warning", /^tools differ: 1 item in 2026-07-28 alone \(tow\)$/, [7, 7]],
      ],
    ],
    fine: [
      [
        "a listing without end",
        facts({
          eras: eras({ catalogue: catalogue({ tools: listing("tools/list", [], { endless: "repeated cursor" }) }) }),
        }),
      ],
    ],
    notApplicable: facts({ eras: eras({ outcome: "refused" }) }),
  },
  "era/headers": {
    found: [
      [
        "a contradiction is served",
        facts({ eras: eras({ contradiction: { outcome: "result", status: 200, line: 12 } }) }),
        ["error", /header Mcp-Method names another method/, [12]],
      ],
      [
        "members are missing",
        facts({
          eras: eras({
            catalogue: catalogue({ tools: listing("tools/list", [MOOR], { pages: [{ resultType: "complete" }] }) }),
          }),
        }),
        ["warning", /results of tools\/list lack ttlMs/, [7]],
        ["warning", /lack cacheScope/, [7]],
      ],
    ],
    notApplicable: facts({ eras: eras({ outcome: "refused" }) }),
  },
  "era/unsupported": {
    found: [
      [
        "names none",
        facts({ eras: eras({ unknownVersion: { outcome: "error", code: -32600, named: undefined, line: 10 } }) }),
        ["warning", /refused without the versions that there are \(-32600\)/, [10]],
      ],
      [
        "is served",
        facts({ eras: eras({ unknownVersion: { outcome: "result", named: undefined } }) }),
        ["warning", /served as if it were known/],
      ],
    ],
    notApplicable: facts({ eras: eras({ unknownVersion: undefined }) }),
  },
  "catalogue/pages": {
    found: [
      [
        "a cursor repeats",
        facts({
          eras: eras({
            catalogue: catalogue({
              tools: listing("tools/list", [MOOR, MOOR], { endless: "repeated cursor", lines: [5, 6, 7] }),
            }),
          }),
        }),
        ["error", /tools\/list has no end: a cursor is returned twice/, [6, 7]],
      ],
      ["duplicates", withTools([MOOR, MOOR]), ["error", /tools\/list has items twice: moor/]],
      [
        "a page fails",
        facts({
          eras: eras({
            catalogue: catalogue({
              tools: listing("tools/list", [MOOR], { error: { code: -32602, message: "no such cursor", line: 8 } }),
            }),
          }),
        }),
        ["error", /page 2 of tools\/list fails .*"no such cursor"/, [8]],
      ],
      [
        "the first page fails",
        facts({
          eras: eras({
            capabilities: { tools: {}, prompts: {} },
            catalogue: catalogue({
              prompts: listing("prompts/list", [], {
                pages: [],
                error: { code: -32603, message: "no store", line: 8 },
              }),
            }),
          }),
        }),
        ["error", /^prompts\/list fails: "no store"$/, [8]],
      ],
    ],
    fine: [
      [
        "nothing declared",
        facts({
          eras: eras({
            catalogue: catalogue({
              prompts: listing("prompts/list", [], { pages: [], error: { code: -32603, message: "none", line: 8 } }),
            }),
          }),
        }),
      ],
    ],
    notApplicable: NOTHING,
  },
  "catalogue/names": {
    found: [
      ["long", withTools([{ ...MOOR, name: "m".repeat(65) }]), ["warning", /more than 64 characters/]],
      ["other characters", withTools([{ ...MOOR, name: "moor a ship" }]), ["warning", /allows letters/]],
      ["dots", withTools([{ ...MOOR, name: "ship.moor" }]), ["note", /refuse a \./]],
      ["twins", withTools([MOOR, { ...MOOR, name: "Moor" }]), ["warning", /but for case .*: moor, Moor$/]],
      ["no room for a prefix", withTools([{ ...MOOR, name: "m".repeat(60) }]), ["note", /\(7 characters\)/]],
    ],
    fine: [["a name of 52", withTools([{ ...MOOR, name: "m".repeat(52) }])]],
    notApplicable: withTools([]),
  },
  "catalogue/text": {
    found: [
      [
        "no description",
        withTools([{ ...MOOR, description: " " }]),
        ["warning", /the tool has no description: moor/, [7]],
      ],
      [
        "a parameter without one",
        withTools([{ ...MOOR, inputSchema: { type: "object", properties: { ship: { type: "string" } } } }]),
        ["note", /1 parameter without a description: moor\.ship/],
      ],
      [
        "hidden text",
        withTools([{ ...MOOR, description: "Moor\u{e0041}\u{e0042}" }]),
        ["error", /"moor" has the invisible character U\+E0041/],
      ],
      ["reversed text", withTools([{ ...MOOR, title: "\u202eroom" }]), ["error", /U\+202E/]],
      [
        "a control",
        facts({ eras: eras({ server: { name: "a", version: "1", instructions: "a\u0007" } }) }),
        ["error", /the instructions has the invisible character U\+0007/, [3]],
      ],
    ],
    fine: [
      [
        "emoji, flags and joiners",
        withTools([{ ...MOOR, description: "👩‍🚀 🏴\u{e0067}\u{e0062}\u{e007f} خانه‌ها\n\tco\u00adop" }]),
      ],
    ],
    notApplicable: NOTHING,
  },
  "catalogue/hints": {
    found: [
      ["none", withTools([{ ...MOOR, annotations: { title: "Moor" } }]), ["note", /the tool has none of readOnlyHint/]],
    ],
    fine: [["read-only", withTools([{ ...MOOR, annotations: { readOnlyHint: true } }])]],
    notApplicable: withTools([]),
  },
  "catalogue/declared": {
    found: [
      ["items without", facts({ eras: eras({ capabilities: {} }) }), ["error", /lists 1 tool, and does not declare/]],
      [
        "without items",
        facts({ eras: eras({ capabilities: { tools: {}, prompts: {} } }) }),
        ["note", /capability prompts, and lists none/],
      ],
      [
        "refused",
        facts({
          eras: eras({
            capabilities: { tools: {}, prompts: {} },
            catalogue: catalogue({
              prompts: listing("prompts/list", [], { error: { code: -32601, message: "no", line: 8 } }),
            }),
          }),
        }),
        ["error", /capability prompts, and refuses to list them: "no"/, [8]],
      ],
    ],
    fine: [
      [
        "a listing that fails, which catalogue/pages tells",
        facts({
          eras: eras({
            capabilities: { tools: {}, prompts: {} },
            catalogue: catalogue({
              prompts: listing("prompts/list", [], {
                pages: [],
                error: { code: -32603, message: "no store", line: 8 },
              }),
            }),
          }),
        }),
      ],
    ],
    notApplicable: NOTHING,
  },
  "schema/invalid": {
    found: [
      ["another root", withTools([{ ...MOOR, inputSchema: { type: "string" } }]), ["error", /has not the type object/]],
      [
        "no schema",
        withTools([{ ...MOOR, inputSchema: { type: "object", properties: 7 } }]),
        ["error", /the input schema of "moor" cannot be used/],
      ],
      [
        "an unknown dialect",
        withTools([{ ...MOOR, outputSchema: { $schema: "https://example.com/own", type: "object" } }]),
        ["warning", /the output schema of "moor" cannot be used: .*dialect/],
      ],
    ],
    notApplicable: withTools([]),
  },
  "schema/portable": {
    found: [
      [
        "an array without items",
        withTools([
          { ...MOOR, inputSchema: { type: "object", properties: { ships: { type: "array", description: "-" } } } },
        ]),
        ["error", /^vscode: the tool carries an array without items \(moor\)/, [7]],
      ],
    ],
    fine: [
      [
        "for another host",
        withTools([{ ...MOOR, inputSchema: { type: "object", properties: { ships: { type: "array" } } } }], {
          scope: { now: 0, hosts: ["claude"] },
        }),
      ],
      ["a keyword that hosts remove", withTools([{ ...MOOR, inputSchema: { $schema: "x", type: "object" } }])],
      [
        "a property called as a keyword",
        withTools([{ ...MOOR, inputSchema: { type: "object", properties: { const: { type: "string" } } } }]),
      ],
    ],
    notApplicable: withTools([]),
  },
  "schema/output": {
    found: [
      ["no content", calling({ result: { content: [] } }), ["error", /has no structured content/, [20]]],
      [
        "another type",
        calling({ result: { structuredContent: { lines: "4" } } }),
        ["error", /does not match the output schema: \/lines /],
      ],
    ],
    fine: [],
    notApplicable: calling({ result: { isError: true, content: [] } }),
  },
  "cost/tokens": {
    found: [
      [
        "11,000",
        withTools(Array.from({ length: 25 }, (_, index) => ({ ...MOOR, name: `t${index}`, inputSchema: BIG }))),
        ["warning", /^about 11,\d{3} tokens in 25 tools; largest: t10 4\d\d, .* With tool search .* about \d+ tokens$/],
      ],
    ],
    notApplicable: withTools([]),
  },
  "cost/repeated": {
    found: [
      [
        "a shape in each tool",
        withTools(Array.from({ length: 5 }, (_, index) => ({ ...MOOR, name: `t${index}`, inputSchema: BIG }))),
        ["warning", /^1 definition is repeated in 5 of 5 tools: about 1,8\d\d of 2,3\d\d tokens$/],
      ],
    ],
    fine: [
      [
        "in two tools",
        withTools([
          { ...MOOR, inputSchema: BIG },
          { ...MOOR, name: "b", inputSchema: BIG },
          { ...MOOR, name: "c" },
        ]),
      ],
    ],
    notApplicable: withTools([]),
  },
  "call/errors": {
    found: [
      [
        "another code",
        asked({ of: "method", outcome: "error", code: -32603, asked: 8, line: 9 }),
        ["warning", /unknown method gets the error -32603 in place of -32601/, [8, 9]],
      ],
      [
        "a resource",
        asked({ of: "resource", outcome: "error", code: -32603, line: 9 }),
        ["warning", /unknown resource gets the error -32603 in place of -32602 or -32002/, [9]],
      ],
      [
        "a result",
        asked({ of: "tool", outcome: "result" }),
        ["warning", /unknown tool gets a result in place of the error -32602/],
      ],
      ["no answer", asked({ of: "prompt", outcome: "silent" }), ["error", /unknown prompt is not answered/]],
      [
        "no code",
        asked({ of: "argument", outcome: "error", message: "HTTP 500" }),
        ["warning", /no JSON-RPC error \("HTTP 500"\)/],
      ],
    ],
    fine: [
      ["a resource by its old code", asked({ of: "resource", outcome: "error", code: -32002 })],
      ["a resource by its new code", asked({ of: "resource", outcome: "error", code: -32602 })],
    ],
    notApplicable: facts({ eras: eras().map((era) => ({ ...era, errors: [] })) }),
  },
  "call/cancel": {
    found: [
      [
        "an answer",
        calling({}, { cancelled: { answers: [40], progress: [], isResponsive: true } }),
        ["warning", /is answered/, [40]],
      ],
      [
        "progress",
        calling({}, { cancelled: { answers: [], progress: [41, 42], isResponsive: true } }),
        ["warning", /progress \(2 times\)/, [41, 42]],
      ],
      [
        "busy",
        calling({}, { cancelled: { answers: [], progress: [], isResponsive: false } }),
        ["error", /does not answer other requests/],
      ],
    ],
    notApplicable: calling({}, { cancelled: undefined }),
  },
  "call/silence": {
    found: [["61 s", calling({ silenceMs: 61_000 }), ["warning", /silent for 61 s/, [20]]]],
    fine: [["60 s", calling({ silenceMs: 60_000 })]],
    notApplicable: facts({ trial: undefined as never }),
  },
  "call/progress": {
    found: [
      [
        "equal values",
        calling({
          progress: [
            { token: 4, progress: 1, line: 18 },
            { token: 4, progress: 1, line: 19 },
          ],
        }),
        ["warning", /does not increase \(\[1,1\]\)/, [19]],
      ],
      [
        "a foreign token",
        calling({ progress: [{ token: "4", progress: 1, line: 18 }] }),
        ["error", /token "4", and the call has 4/, [18]],
      ],
    ],
    notApplicable: calling({ token: undefined }),
  },
  "drain/term": {
    found: [
      [
        "a lost call",
        facts({ wire: "http", drain: { answered: false, ms: 30, code: null, signal: "SIGTERM" } }),
        ["warning", /lost .* \(it ended by SIGTERM after 30 ms\)/],
      ],
      [
        "no end",
        facts({ drain: { answered: true, ms: undefined, code: null, signal: "SIGKILL" } }),
        ["warning", /within 10 s/],
      ],
      ["another code", facts({ drain: { answered: true, ms: 9, code: 1, signal: null } }), ["note", /code 1/]],
    ],
    fine: [
      [
        "a process of one client, whose call is lost",
        facts({ drain: { answered: false, ms: 30, code: null, signal: "SIGTERM" } }),
      ],
    ],
    notApplicable: NOTHING,
  },
  "drain/refuse": {
    found: [
      [
        "5 connections",
        facts({ drain: { answered: true, ms: 9, code: 0, signal: null, dropped: 5 } }),
        ["warning", /\(5 times\)/],
      ],
    ],
    fine: [["one, at the very end", facts({ drain: { answered: true, ms: 9, code: 0, signal: null, dropped: 1 } })]],
    notApplicable: facts({ drain: { answered: true, ms: 9, code: 0, signal: null } }),
  },
  "hosts/config": {
    found: [
      [
        "a broken file",
        facts({ hosts: { problems: ["/a.json: is not JSON"], servers: [] } }),
        ["error", /\/a\.json: is not JSON/],
      ],
      ["a missing program", configured({ missing: "nodde" }), ["error", /names the program "nodde"/]],
      ["a relative path", configured({ relative: ["./a.js"] }), ["warning", /relative paths.*: \.\/a\.js/]],
      ["a secret", configured({ secrets: ["API_TOKEN"] }), ["warning", /secrets in plain text: API_TOKEN/]],
    ],
    notApplicable: NOTHING,
  },
};

testCases(CASES);

test("each rule of this table exists, with a remedy and an id of its own", () => {
  const ids = RULES.map(({ id }) => id);
  equal(new Set(ids).size, ids.length);
  deepEqual(
    Object.keys(CASES).filter((id) => !ids.includes(id)),
    [],
  );
  for (const { finds, remedy } of RULES) ok(/^\S.*[^.]$/.test(finds) && remedy.endsWith("."), `${finds}: ${remedy}`);
});

test("findings are sorted by level, and quote five lines at most", () => {
  const given = facts({ start: { firstAnswerMs: 2_500 }, eras: eras({ outcome: "died" }) });
  deepEqual(
    examine(given, RULES, quote).findings.map(({ level }) => level),
    ["error", "warning", "note"],
  );
  const noise = Array.from({ length: 9 }, (_, line) => ({ text: `text ${line}`, line }));
  const [first] = examine(output({ noise }), RULES, quote).findings;
  equal(first?.evidence.length, 5);
});
