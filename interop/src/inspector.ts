import { deepEqual, equal } from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Era, Target } from "./driver.js";
import { programOf } from "./fetched.js";
import type { Neighbour } from "./neighbours.js";
import { type Outcome, runCheck, START_MS } from "./run-pair.js";
import { startServer } from "./server-process.js";
import * as words from "./servers/words.js";

const exec = promisify(execFile);
const MODES = ["stdio", "http"];
const ERAS: readonly Era[] = ["legacy", "modern"];

type Ask = (method: string, ...options: string[]) => Promise<Record<string, unknown>>;
type Named = { readonly name: string }[];

/** The command line of the official inspector. Each question is a process, a connection and an end of its own. */
export const inspectors: readonly Neighbour[] = MODES.flatMap((mode) =>
  ERAS.map((era) => ({
    pair: `inspector -> bowline ${mode} ${era}`,
    needs: () => programOf("inspector"),
    run: () => inspect(mode, era),
  })),
);

const checks: Readonly<Record<string, (ask: Ask) => Promise<void>>> = {
  list: async (ask) => {
    const { tools } = await ask("tools/list");
    equal(
      (tools as Named).some(({ name }) => name === "echo"),
      true,
    );
    const { resources } = await ask("resources/list");
    deepEqual(resources, [{ name: "pinned", uri: words.NOTE_URI }]);
    const { prompts } = await ask("prompts/list");
    deepEqual(prompts, [{ name: "greet", arguments: [{ name: "city", required: true }] }]);
  },
  structured: async (ask) => {
    const { structuredContent } = await ask("tools/call", "--tool-name", "add", "--tool-args-json", '{"a":2,"b":3}');
    deepEqual(structuredContent, { sum: 5 });
  },
  "tool error": async (ask) => equal((await ask("tools/call", "--tool-name", "fail")).isError, true),
  resource: async (ask) => {
    const { contents } = await ask("resources/read", "--uri", words.NOTE_URI);
    equal((contents as { text: string }[])[0]?.text, words.NOTE_TEXT);
  },
  prompt: async (ask) => {
    const { messages } = await ask("prompts/get", "--prompt-name", "greet", "--prompt-args", "city=Oslo");
    equal((messages as { content: { text: string } }[])[0]?.content.text, words.greeting("Oslo"));
  },
};

async function inspect(mode: string, era: Era): Promise<Outcome[]> {
  const pair = `inspector -> bowline ${mode} ${era}`;
  const home = mkdtempSync(join(tmpdir(), "interop-"));
  const served = await startServer("bowline", mode);
  const ask: Ask = (method, ...options) => question(served.target, home, [...options, "--protocol-era", era], method);
  const outcomes: Outcome[] = [];
  for (const [check, work] of Object.entries(checks))
    outcomes.push(await runCheck(pair, check, () => work(ask), START_MS));
  outcomes.push(await runCheck(pair, "stop", () => served.close(), START_MS));
  rmSync(home, { recursive: true, force: true });
  return outcomes;
}

/** The result of one method. The exit code of a call whose result is an error is not 0; the result is printed all the same. */
async function question(target: Target, home: string, options: string[], method: string): ReturnType<Ask> {
  const args = ["--method", method, ...options];
  const told = await runInspector(target, home, args).catch((error: { stdout?: string; stderr?: string }) => {
    if (!error.stdout) throw new Error(`the inspector failed: ${error.stderr}`);
    return error.stdout;
  });
  return (JSON.parse(told) as { result: Record<string, unknown> }).result;
}

/** Runs the inspector and returns its output. Rejects if the exit code is not 0. */
export async function runInspector(target: Target, home: string, options: readonly string[]): Promise<string> {
  const { node, file } = await programOf("inspector");
  const goal = target.wire === "http" ? [target.url, "--transport", "http"] : [target.command, ...target.args];
  const env = { ...process.env, HOME: home, USERPROFILE: home };
  return (await exec(node, [file, "--cli", ...goal, ...options, "--format", "json"], { env })).stdout;
}
