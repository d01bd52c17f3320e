import { deepEqual, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

const { blocksOf, fileNameOf, pages } = await loadScript<{
  blocksOf(page: string): readonly { readonly code: string }[];
  fileNameOf(code: string): string | undefined;
  pages(): readonly string[];
}>("scripts/lib/markdown.mjs");
const read = (page: string) => readFileSync(page, "utf8");
const pageOf = (name: string) => pages().find((page) => page.endsWith(name)) ?? "";

test("pages that install the package say how to do it before it is on the registry", () => {
  const installing = pages().filter(
    (page) => page.includes("docs") && /(?:install|add) (?:npm:)?bowline\b/.test(read(page)),
  );
  for (const name of ["docker.md", "functions.md", "node.md", "workers.md", "tutorial.md"])
    ok(installing.includes(pageOf(name)), name);
  const note = /Until Bowline is on the registry, .+\[tarball of a clone\]\((?:\.\.\/)+README\.md#install\)/;
  for (const page of installing) match(read(page), note, page);
});

test("the image of the page about Docker has each program that the page starts", () => {
  const page = pageOf("docker.md");
  const text = read(page);
  const names = blocksOf(page).map(({ code }) => fileNameOf(code));
  const copied = [...text.matchAll(/^COPY (.+) \.\/$/gm)].flatMap(([, sources = ""]) => sources.split(" "));
  const isCopied = (name: string) =>
    copied.some((source) => new RegExp(`^${source.replaceAll(".", "\\.").replaceAll("*", ".*")}$`).test(name));
  const started = [...text.matchAll(/"node", "(\w+\.ts)"/g)].map(([, name = ""]) => name);
  deepEqual(started, ["main.ts", "stdio.ts"]);
  for (const name of [...started, "weather.ts"]) ok(names.includes(name) && isCopied(name), name);
  for (const name of ["package.json", "package-lock.json", "bowline-0.1.0.tgz"]) ok(isCopied(name), name);
});
