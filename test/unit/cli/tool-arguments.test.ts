import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import type { Io } from "#src/cli/io.js";
import { optionsOf, parseCommand } from "#src/cli/parse.js";
import { commandNamed } from "#src/cli/table.js";
import { readToolLine } from "#src/cli/tool-arguments.js";
import { parametersOf } from "#src/cli/tool-parameters.js";
import { emptyFolder } from "../../support/command.js";

const tool = {
  name: "set",
  inputSchema: {
    type: "object" as const,
    properties: {
      text: { type: "string" },
      number: { type: "number" },
      maybe: { anyOf: [{ type: "integer" }, { type: "null" }] },
      dry: { type: "boolean" },
      tag: { type: "array", items: { type: "string" } },
      sizes: { type: "array", items: { type: "integer" } },
      at: { $ref: "#/$defs/point" },
      any: {},
      level: { enum: ["low", "high"] },
      json: { type: "string" },
      env: { type: "string" },
    },
    $defs: { point: { type: "object", properties: { x: { type: "number" }, name: { type: "string" } } } },
  },
};

const spec = commandNamed("call")!;

async function read(t: TestContext, ...tail: string[]) {
  const cwd = emptyFolder(t);
  writeFileSync(join(cwd, "file.txt"), "from a file");
  const io = { cwd, stdin: Readable.from([Buffer.from("from stdin")]) } as unknown as Io;
  return readToolLine(tool, parseCommand(spec, ["server", "set", ...tail]), optionsOf(spec), io);
}

test("the schema decides the type of a value", async (t) => {
  const { args } = await read(
    t,
    ...[
      "--text",
      "1",
      "--number",
      "-3.5",
      "--maybe",
      "7",
      "--dry",
      "--tag",
      "a",
      "--tag=b,c",
      "--sizes",
      "1",
      "--sizes",
      "2",
    ],
    ...["--at.x", "3", "--at.name", "n", "--any", '{"a":[null]}', "--level", "high"],
  );
  deepEqual(args, {
    text: "1",
    number: -3.5,
    maybe: 7,
    dry: true,
    tag: ["a", "b,c"],
    sizes: [1, 2],
    at: { x: 3, name: "n" },
    any: { a: [null] },
    level: "high",
  });
  deepEqual((await read(t, "--no-dry")).args, { dry: false });
});

test("a value is read from a file, from stdin, or begins with a literal @", async (t) => {
  equal((await read(t, "--text", "@file.txt")).args.text, "from a file");
  equal((await read(t, "--text", "@-")).args.text, "from stdin");
  equal((await read(t, "--text", "@@me")).args.text, "@me");
  equal((await read(t, "--text=--dashes")).args.text, "--dashes");
});

test("--args gives all arguments, and flags override members", async (t) => {
  const { args } = await read(t, "--args", '{"text":"a","at":{"x":1,"name":"k"}}', "--text", "b", "--at.x", "2");
  deepEqual(args, { text: "b", at: { x: 2, name: "k" } });
});

test("after the tool, an option that is a parameter belongs to the tool", async (t) => {
  const after = await read(t, "--json", "x", "--quiet");
  deepEqual([after.args, after.values], [{ json: "x" }, { quiet: true }]);
  const line = parseCommand(spec, ["--json", "server", "set", "--json", "x"]);
  const both = await readToolLine(tool, line, optionsOf(spec), {} as Io);
  deepEqual([both.args, both.values], [{ json: "x" }, { json: true }]);
});

test("options before and after the tool are added", () => {
  const line = parseCommand(spec, ["--header", "a: 1", "server", "set", "--header", "b: 2"]);
  deepEqual(line.values.header, ["a: 1", "b: 2"]);
  throws(() => parseCommand(spec, ["server", "--era", "auto", "--era", "auto", "set"]), /--era is given twice/);
});

for (const [tail, told] of [
  [["--number", "many"], /--number must be a number, got "many"/],
  [["--level", "hihg"], /--level must be one of low, high \(did you mean high\?\), got "hihg"/],
  [["--any", "text"], /--any takes JSON, and "text" is not valid JSON; write a text in double quotes/],
  [["--text", "a", "--text", "b"], /--text is given twice/],
  [["--dry=yes"], /--dry takes no value; write --dry or --no-dry/],
  [["--txt", "a"], /has no parameter --txt; did you mean --text\?/],
  [["--args", "[1]"], /--args must be a JSON object/],
  [["--sizes", "x"], /--sizes must be a number/],
] as const) {
  test(`a mistake is told: ${tail.join(" ")}`, async (t) => {
    await rejects(read(t, ...tail), (error: Error) => {
      equal(error.name, "UsageError");
      match(error.message, told);
      return true;
    });
  });
}

test("parameters are the properties, and the members of objects", () => {
  const names = [...parametersOf(tool).keys()];
  deepEqual(names.slice(6, 9), ["at", "at.x", "at.name"]);
  deepEqual([...parametersOf({ inputSchema: { type: "object" } }).keys()], []);
});
