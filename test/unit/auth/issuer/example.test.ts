import { match } from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

test("the example of a whole protected world runs to its end", async () => {
  const program = fileURLToPath(new URL("../../../../../examples/dist/issuer.js", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: 240_000 });
  match(stdout, /Without a token: 401\n/);
  match(stdout, /The page asks: Allow Harbour Desk to use your account\?\n/);
  match(stdout, /With a token: I am ada, who may log:read\n/);
});
