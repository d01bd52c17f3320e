import { deepEqual, equal } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { relative } from "node:path";
import { test } from "node:test";
import { program } from "../../../support/server-child.js";

/** Starts a server, ends its input, and returns what it wrote. `isTerminal` lets its stdin be a terminal. */
async function said(isTerminal: boolean) {
  const terminal = `data:text/javascript,Object.defineProperty(process.stdin,'isTTY',{value:true})`;
  const env = { ...process.env, NODE_OPTIONS: isTerminal ? `--import=${terminal}` : "" };
  const child = spawn(process.execPath, [program("greeted"), "an argument"], { env });
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => stream.setEncoding("utf8").toArray());
  child.stdin.end();
  const [code] = (await once(child, "close")) as [number | null];
  equal(code, 0);
  return { stdout: (await stdout)?.join(""), stderr: (await stderr)?.join("") };
}

test("a server that is started on a terminal says on stderr what it waits for, and how to try it", async () => {
  const script = relative("", program("greeted"));
  deepEqual(await said(true), {
    stdout: "",
    stderr: `weather 1.0.0 waits for an MCP client on stdin; try: npx bowline list ${script}\n`,
  });
});

test("a server whose stdin is a pipe says nothing", async () => {
  deepEqual(await said(false), { stdout: "", stderr: "" });
});
