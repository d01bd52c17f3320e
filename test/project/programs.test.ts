import { deepEqual, doesNotThrow, equal, match, ok } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parse } from "acorn";
import { transformSync } from "esbuild";
import { loadScript } from "./load-script.js";

interface Block {
  readonly place: string;
  readonly code: string;
  readonly rule?: string;
  readonly notRun?: string;
  readonly isForNewer: boolean;
}

const { blocksOf, outputAfter, pages } = await loadScript<{
  blocksOf(page: string): readonly Block[];
  outputAfter(page: string, code: string): string | undefined;
  pages(): readonly string[];
}>("scripts/lib/markdown.mjs");

interface Runtime {
  readonly version: string;
  readonly program: string;
  readonly isOld?: boolean;
}

const { findNodes, outcomeOf } = await loadScript<{
  findNodes(
    fetch: (version: string) => Promise<string>,
    here: Runtime,
  ): Promise<{ readonly nodes: readonly Runtime[]; readonly warnings: readonly string[] }>;
  outcomeOf(runs: number, nodes: readonly Runtime[], problems: readonly string[]): { readonly problems: string[] };
}>("scripts/check-programs.mjs");

const versionsOf = (nodes: readonly Runtime[]) => nodes.map(({ version }) => version.split(".")[0]);

test("programs run on Node 22 and 24, and on an older one that runs the script", async () => {
  const fetch = async (version: string) => `node-${version}`;
  const on = async (version: string, isOld: boolean) =>
    versionsOf((await findNodes(fetch, { version, program: "node", isOld })).nodes);
  deepEqual(await on("20.19.0", true), ["20", "22", "24"]);
  deepEqual(await on("26.1.0", false), ["22", "24"]);
});

test("where neither can be fetched, programs run on the one that runs the script", async () => {
  const fetch = async () => Promise.reject(new Error("no network"));
  const here = { version: "26.1.0", program: "node", isOld: false };
  const { nodes, warnings } = await findNodes(fetch, here);
  deepEqual(nodes, [here]);
  equal(warnings.length, 2);
  for (const warning of warnings) match(warning, /^not run on Node 2[24]\.\S+: no network$/);
});

test("a check that has run no program fails", () => {
  deepEqual(outcomeOf(0, [], []).problems, ["no program ran"]);
  deepEqual(outcomeOf(1, [], []).problems, []);
  deepEqual(outcomeOf(1, [], ["page.md:1: ended with exit code 1"]).problems, ["page.md:1: ended with exit code 1"]);
});

function newPage(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "bowline-page-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "page.md"), text);
  return join(folder, "page.md");
}

test("a comment says what is compiled in front of a block, and why the block is not run", (t) => {
  const comments = ["", "declare const x: 1;", "not run: needs Redis", "not run: needs Redis; declare const x: 1;"];
  const block = (comment: string) => `${comment === "" ? "" : `<!-- docs: ${comment} -->\n`}\`\`\`ts\nx;\n\`\`\`\n`;
  const found = blocksOf(newPage(t, comments.map(block).join("\ntext\n\n")));
  deepEqual(
    found.map(({ rule, notRun }) => ({ rule, notRun })),
    [
      { rule: undefined, notRun: undefined },
      { rule: "declare const x: 1;", notRun: undefined },
      { rule: undefined, notRun: "needs Redis" },
      { rule: "declare const x: 1;", notRun: "needs Redis" },
    ],
  );
});

test("a block that does not run on Node 20 is for newer versions", (t) => {
  const page = newPage(
    t,
    "<!-- docs: not run on Node 20: SQLite; declare const x: 1; -->\n```ts\nx;\n```\n\n```ts\ny;\n```\n",
  );
  deepEqual(
    blocksOf(page).map(({ rule, notRun, isForNewer }) => ({ rule, notRun, isForNewer })),
    [
      { rule: "declare const x: 1;", notRun: "SQLite", isForNewer: true },
      { rule: undefined, notRun: undefined, isForNewer: false },
    ],
  );
});

test("the output of a program is the block without a language before the next program", (t) => {
  const page = newPage(
    t,
    "```ts\na;\n```\n\n```\nout\n```\n\n```ts\nb;\n```\n\n```sh\nls\n```\n\n```ts\nc;\n```\n\n```\nend\n```\n",
  );
  equal(outputAfter(page, "a;\n"), "out\n");
  equal(outputAfter(page, "b;\n"), undefined);
  equal(outputAfter(page, "c;\n"), "end\n");
});

test("all programs of the pages are JavaScript with types, which Node 22 runs", () => {
  const blocks = pages().flatMap(blocksOf);
  ok(blocks.length > 50);
  for (const { place, code } of blocks) {
    const { code: script } = transformSync(code, { loader: "ts", format: "esm", target: "esnext" });
    doesNotThrow(() => parse(script, { ecmaVersion: 2025, sourceType: "module" }), place);
  }
});
