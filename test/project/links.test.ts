import { deepEqual, equal } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

const { deadLinks, withLinks } = await loadScript<{
  deadLinks(page: string, nameOf: (path: string) => string): readonly string[];
  withLinks(page: string, lead: (path: string, link: string) => string): string;
}>("scripts/lib/markdown.mjs");

function pageOf(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "bowline-links-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "other.md"), "# Other\n\n## Some `part`, and more\n");
  const page = join(folder, "page.md");
  writeFileSync(page, text);
  return page;
}

const dead = (t: TestContext, text: string) => deadLinks(pageOf(t, text), basename);

test("links to files and headings that exist pass", (t) => {
  const text = "# Page\n\n[a](other.md) [b](other.md#some-part-and-more) [c](#page) [d](https://example.com#x)\n";
  deepEqual(dead(t, text), []);
});

test("a link to a file or a heading that does not exist is found", (t) => {
  deepEqual(dead(t, "[a](none.md) [b](other.md#none) [c](#none)\n"), [
    "page.md links to none.md, which does not exist",
    "page.md links to other.md#none, which is not a heading",
    "page.md links to page.md#none, which is not a heading",
  ]);
});

test("what looks like a link in a block of code is none, and stays as it is in the package", (t) => {
  const code = "```ts\nlog[name]({ error });\n```\n";
  const text = `${code}\n[a](other.md)\n\n- item\n\n  \`\`\`ts\n  log[name](other);\n  \`\`\`\n`;
  deepEqual(dead(t, text), []);
  equal(
    withLinks(pageOf(t, text), (_, link) => `x/${link}`),
    text.replace("other.md", "x/other.md"),
  );
});
