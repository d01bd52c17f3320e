import { deepEqual, equal } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { SourceMapPayload } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { loadScript } from "./load-script.js";

interface Entry {
  readonly file: string;
  readonly fileLines: number;
  readonly name: string;
  readonly line: number;
  readonly lines: number;
  readonly stack: readonly unknown[];
}

interface Counts {
  readonly files: number;
  readonly changes: number;
  readonly entries: number;
  readonly changesAtEntries: number;
  readonly largestFile: { readonly file: string; readonly lines: number };
  readonly longestFunction: { readonly name: string; readonly lines: number };
}

interface Recorder {
  start(): void;
  aside(run: () => void): void;
  stop(): Entry[];
}

const { instrument } = await loadScript<{
  instrument(code: string, map: SourceMapPayload, file: string): { readonly code: string };
}>("scripts/trace/instrument.mjs");
const { Recorder, count, mostCommon } = await loadScript<{
  Recorder: new () => Recorder;
  count(entries: readonly Entry[]): Counts;
  mostCommon<T>(calls: readonly T[]): T;
}>("scripts/trace/count.mjs");

interface Verdict {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  /** Limits of the trace, by what they count. */
  readonly limits: Readonly<Record<"files" | "changes" | "fileLines" | "functionLines", number>>;
}

const { judge } = await loadScript<{ judge(name: string, entries: readonly Entry[]): Verdict }>("scripts/trace.mjs");

/** A map in which each line of the code is the same line of its source. */
function lineByLine(code: string): SourceMapPayload {
  const mappings = code
    .split("\n")
    .map((_, line) => (line === 0 ? "AAAA" : "AACA"))
    .join(";");
  return { file: "", version: 3, sources: ["x.ts"], sourcesContent: [code], names: [], mappings, sourceRoot: "" };
}

/** Runs the default export of a.js, instrumented like its neighbours, and gives what was entered. */
async function traceOf(t: TestContext, modules: Readonly<Record<string, string>>): Promise<Entry[]> {
  const folder = mkdtempSync(join(tmpdir(), "bowline-trace-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  for (const [name, code] of Object.entries(modules)) {
    const file = name.replace(".js", ".ts");
    writeFileSync(join(folder, name), instrument(code, lineByLine(code), file).code);
  }
  const recorder = new Recorder();
  Object.assign(globalThis, { recorder });
  t.after(() => Reflect.deleteProperty(globalThis, "recorder"));
  const { run }: { run(recorder: Recorder): unknown } = await import(pathToFileURL(join(folder, "a.js")).href);
  recorder.start();
  await run(recorder);
  return recorder.stop();
}

const namesOf = (entries: readonly Entry[]) => entries.map(({ file, name }) => `${file} ${name}`);

test("calls and returns between files are changes, entries in order", async (t) => {
  const entries = await traceOf(t, {
    "a.js": 'import { twice } from "./b.js";\nexport function run() {\n  own();\n  twice(own);\n}\nfunction own() {}\n',
    "b.js": "export const twice = (f) => [f(), f()];\n",
  });
  deepEqual(namesOf(entries), ["a.ts run", "a.ts own", "b.ts twice", "a.ts own", "a.ts own"]);
  const counts = count(entries);
  equal(counts.files, 2);
  // Into twice; to own and back, two times; back into run.
  equal(counts.changes, 6);
  equal(counts.changesAtEntries, 2);
  equal(counts.entries, 5);
  deepEqual(counts.largestFile, { file: "a.ts", lines: 6 });
  equal(counts.longestFunction.name, "run");
  equal(counts.longestFunction.lines, 4);
  deepEqual(
    entries.map(({ line }) => line),
    [2, 6, 1, 6, 6],
  );
});

test("every kind of function is entered and does what it did", async (t) => {
  const entries = await traceOf(t, {
    "a.js": `class Base { constructor(x) { this.x = x; } }
class Derived extends Base {
  #y = (() => 1)();
  constructor() { super(2); }
  get sum() { return this.x + this.#y; }
  static make() { return new Derived(); }
}
class Bare extends Base {}
const pair = (a) => ({ a });
const curried = (a) => (b) => (a, b);
function* numbers() { yield 1; }
export async function run() {
  const values = [Derived.make().sum, new Bare(4).x, pair(5).a, curried(6)(7), ...numbers()];
  if (values.join() !== "3,4,5,7,1") throw new Error(values.join());
}
`,
  });
  deepEqual(
    entries.map(({ name }) => name),
    [
      "run",
      "Derived.make",
      "Derived.constructor",
      "Base.constructor",
      "(anonymous)",
      "Derived.sum",
      "Base.constructor",
      "pair",
      "curried",
      "curried > (anonymous)",
      "numbers",
    ],
  );
});

test("a function that goes on after a wait is not entered again, and its caller is not under way", async (t) => {
  const entries = await traceOf(t, {
    "a.js": 'import { later } from "./b.js";\nexport async function run() {\n  await later();\n}\n',
    "b.js":
      'import { leaf } from "./c.js";\nexport async function later() {\n  await undefined;\n  leaf();\n  leaf();\n}\n',
    "c.js": "export function leaf() {}\n",
  });
  deepEqual(namesOf(entries), ["a.ts run", "b.ts later", "c.ts leaf", "c.ts leaf"]);
  deepEqual(
    entries.map(({ stack }) => stack.length),
    [1, 2, 2, 2],
  );
  // Into later and back; in the next turn later again, then to leaf and back, two times.
  equal(count(entries).changes, 7);
});

test("what is run aside is not recorded", async (t) => {
  const entries = await traceOf(t, {
    "a.js":
      "export function run(recorder) {\n  recorder.aside(hidden);\n  seen();\n}\nfunction hidden() {}\nfunction seen() {}\n",
  });
  deepEqual(namesOf(entries), ["a.ts run", "a.ts seen"]);
});

test("the most common of several calls is taken", () => {
  deepEqual(mostCommon([["a", "timer"], ["a"], ["a"]]), ["a"]);
});

/** Entries of a call that passes through so many files, one after another. */
function passing(files: number, sizes: Partial<Entry> = {}): Entry[] {
  return Array.from({ length: files }, (_, index) => {
    const file = `${index}.ts`;
    return { file, fileLines: 1, name: "run", line: 1, lines: 1, stack: [{ file, name: "run" }], ...sizes };
  });
}

const verdict = (name: string, entries: readonly Entry[]) => {
  const { problems, warnings } = judge(name, entries);
  return { problems, warnings };
};

test("a call that enters too many files, or changes too often between them, is a problem", () => {
  const name = "http modern server";
  const { files, changes } = judge(name, passing(1)).limits;
  deepEqual(verdict(name, passing(files)), { problems: [], warnings: [] });
  deepEqual(verdict(name, passing(files + 1)), {
    problems: [`${name}: ${files + 1} files, limit ${files}`],
    warnings: [],
  });
  const back = Array.from({ length: changes + 2 }, (_, index) => passing(2)[index % 2] as Entry);
  deepEqual(verdict(name, back.slice(1)), { problems: [], warnings: [] });
  const problem = `${name}: ${changes + 1} changes of file, limit ${changes}`;
  deepEqual(verdict(name, back), { problems: [problem], warnings: [] });
  deepEqual(verdict("a path without limits", passing(999)), { problems: [], warnings: [] });
});

test("a large file and a long function on a path are warnings", () => {
  const name = "http modern client";
  const { fileLines, functionLines: lines } = judge(name, passing(1)).limits;
  deepEqual(verdict(name, passing(1, { fileLines, lines })), { problems: [], warnings: [] });
  deepEqual(verdict(name, passing(1, { fileLines: fileLines + 1, lines: lines + 1 })), {
    problems: [],
    warnings: [
      `${name}: 0.ts has ${fileLines + 1} lines, limit ${fileLines}`,
      `${name}: 0.ts:1 run has ${lines + 1} lines, limit ${lines}`,
    ],
  });
});
