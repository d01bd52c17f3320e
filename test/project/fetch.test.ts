import { deepEqual, equal, rejects } from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

const { fill } = await loadScript<{
  fill(folder: string, isFilled: () => boolean, work: (draft: string) => Promise<void>): Promise<void>;
}>("scripts/lib/fetch.mjs");

function cacheOf(t: TestContext) {
  const cache = mkdtempSync(join(tmpdir(), "bowline-fetch-"));
  t.after(() => rmSync(cache, { recursive: true }));
  const folder = join(cache, "peer");
  const program = join(folder, "program");
  const write = (place: string, text: string) => {
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, "program"), text);
  };
  return { cache, folder, program, write, isFilled: () => existsSync(program) };
}

test("a folder is filled at once, in place of an incomplete one", async (t) => {
  const { cache, folder, program, write, isFilled } = cacheOf(t);
  mkdirSync(join(folder, "rest"), { recursive: true });
  await fill(folder, isFilled, async (draft) => write(draft, "whole"));
  equal(readFileSync(program, "utf8"), "whole");
  deepEqual([readdirSync(cache), readdirSync(folder)], [["peer"], ["program"]]);
});

test("a folder that another process has filled meanwhile stays", async (t) => {
  const { cache, folder, program, write, isFilled } = cacheOf(t);
  await fill(folder, isFilled, async (draft) => {
    write(draft, "late");
    write(folder, "early");
  });
  equal(readFileSync(program, "utf8"), "early");
  deepEqual(readdirSync(cache), ["peer"]);
});

test("work that fails leaves nothing", async (t) => {
  const { cache, folder, isFilled } = cacheOf(t);
  const work = async () => {
    throw new Error("no network");
  };
  await rejects(fill(folder, isFilled, work), /no network/);
  deepEqual(readdirSync(cache), []);
});
