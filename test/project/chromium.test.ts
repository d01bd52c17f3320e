import { equal, throws } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

const { findChromium } = await loadScript<{
  findChromium(env: Readonly<Record<string, string>>): string;
}>("scripts/lib/chromium.mjs");

test("the browser is the one in CHROMIUM, or else one of PATH by its usual names", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bowline-chromium-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const add = (name: string) => {
    writeFileSync(join(folder, name), "");
    return join(folder, name);
  };
  const PATH = `/nowhere:${folder}`;
  throws(() => findChromium({ PATH }), /not found; .*apt-get install chromium, or --install as root.*set CHROMIUM/);
  const chrome = add("google-chrome");
  equal(findChromium({ PATH }), chrome);
  const chromium = add("chromium");
  equal(findChromium({ PATH }), chromium);
  equal(findChromium({ PATH, CHROMIUM: chrome }), chrome);
  throws(
    () => findChromium({ PATH, CHROMIUM: join(folder, "none") }),
    /^Error: CHROMIUM is .*none, which does not exist$/,
  );
});
