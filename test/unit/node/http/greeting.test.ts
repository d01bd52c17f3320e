import { deepEqual, equal } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { program } from "../../../support/server-child.js";

/** Starts a server that listens, and returns its address and what it said. `isTerminal` lets its stderr be a terminal. */
async function said(isTerminal: boolean, options: object = {}) {
  const terminal = `data:text/javascript,Object.defineProperty(process.stderr,'isTTY',{value:true})`;
  const env = { ...process.env, NODE_OPTIONS: isTerminal ? `--import=${terminal}` : "" };
  const child = spawn(process.execPath, [program("heralded"), JSON.stringify(options)], { env });
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => stream.setEncoding("utf8").toArray());
  const [code] = (await once(child, "close")) as [number | null];
  equal(code, 0);
  return { url: (await stdout)?.join(""), stderr: (await stderr)?.join("") };
}

const greeting = (url = "") => `weather 1.0.0 listens on ${url}; try: npx bowline list ${url}\n`;

test("a server whose stderr is a terminal says there where it listens, and how to try it", async () => {
  const { url, stderr } = await said(true, { path: "/tides" });
  equal(new URL(url ?? "").pathname, "/tides");
  equal(stderr, greeting(url));
});

test("a server on several processes says it once", async () => {
  const { url, stderr } = await said(true, { workers: 2 });
  equal(stderr, greeting(url));
});

test("a server whose stderr is no terminal says nothing", async () => {
  deepEqual((await said(false)).stderr, "");
});
