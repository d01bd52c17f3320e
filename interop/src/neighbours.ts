import { equal, ok } from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openBowline } from "./clients/bowline.js";
import type { Answers, Choice, Driver, ProgressReport, Target } from "./driver.js";
import { type Outcome, runCheck } from "./run-pair.js";

/** A line with checks of its own. */
export interface Neighbour {
  /** `client -> server mode era`, as in the matrix. */
  readonly pair: string;
  /** Fetches or builds the peer; rejects with the reason if it is not available. */
  needs?(): Promise<unknown>;
  run(): Promise<Outcome[]>;
}

export type Checks = Readonly<Record<string, (driver: Driver) => Promise<void>>>;

const resolve = createRequire(import.meta.url).resolve;
const programOf = (name: string) => resolve(`@modelcontextprotocol/${name}/dist/index.js`);

/** How a published server is started, and the version that the client and the server agree on. */
export interface Start {
  readonly pair: string;
  readonly flags: readonly string[];
  readonly choice: Choice;
  readonly version: string;
}

const OWN: Omit<Start, "pair"> = { flags: [], choice: "auto", version: "2025-11-25" };

/** Node flags that run a program of the official SDK, as published, on `bowline/compat`. */
const ON_COMPAT = ["--import", new URL("../../compat/register.mjs", import.meta.url).href];

/** Starts of a server: as published, and on `bowline/compat` for a client of each era. */
export const startsOf = (name: string): readonly Start[] => [
  { pair: `bowline -> ${name} stdio legacy`, ...OWN },
  { pair: `bowline -> ${name}-on-compat stdio legacy`, ...OWN, flags: ON_COMPAT, choice: "legacy" },
  { pair: `bowline -> ${name}-on-compat stdio modern`, flags: ON_COMPAT, choice: "auto", version: "2026-07-28" },
];

export const neighbours: readonly Neighbour[] = [
  ...startsOf("everything").map((start) => ({ pair: start.pair, run: () => runEverything(start) })),
  ...startsOf("filesystem").map((start) => ({ pair: start.pair, run: () => runFilesystem(start) })),
];

/** Runs the official server that shows all features. */
function runEverything(start: Start): Promise<Outcome[]> {
  const answers: Answers = {
    elicit: (message) => {
      const content: Record<string, string> = message.includes("research query")
        ? { interpretation: "historical" }
        : { name: "Aurora" };
      return { action: "accept", content };
    },
    sample: (question) => `${question} bowline`,
    roots: [{ uri: "file:///harbour", name: "harbour" }],
  };
  // As published, the tool runs as a task only. On bowline/compat its calls are ordinary calls.
  const research = async (driver: Driver) => {
    const reply = await driver.callTool("simulate-research-query", { topic: "knots", ambiguous: true });
    ok(reply.text.includes("# Research Report: knots (historical)"), reply.text);
  };
  return drive(start.pair, commandOf(start, "server-everything", "stdio"), answers, start.choice, {
    ...(start.flags.length > 0 && { research }),
    version: async (driver) => equal(driver.version, start.version),
    list: async (driver) => {
      const tools = await driver.listTools();
      ok(["get-sum", "simulate-research-query"].every((tool) => tools.includes(tool)));
      ok((await driver.listPrompts()).includes("simple-prompt"));
      ok((await driver.listResources()).length > 0);
      ok((await driver.listTemplates()).includes("demo://resource/dynamic/text/{resourceId}"));
    },
    plain: async (driver) => equal((await driver.callTool("echo", { message: "ahoy" })).text, "Echo: ahoy"),
    structured: async (driver) => {
      const { structured } = await driver.callTool("get-structured-content", { location: "Chicago" });
      equal(typeof (structured as { temperature: unknown }).temperature, "number");
    },
    progress: async (driver) => {
      const seen: ProgressReport[] = [];
      const onProgress = (report: ProgressReport) => void seen.push(report);
      await driver.callTool("trigger-long-running-operation", { duration: 0.3, steps: 3 }, { onProgress });
      equal(seen.map(({ progress, total }) => `${progress}/${total}`).join(), "1/3,2/3,3/3");
    },
    resource: async (driver) => ok((await driver.readResource("demo://resource/dynamic/text/7")).includes("7")),
    prompt: async (driver) => ok((await driver.getPrompt("args-prompt", { city: "Oslo" })).includes("Oslo")),
    elicit: async (driver) => ok((await driver.callTool("trigger-elicitation-request", {})).text.includes("Aurora")),
    sample: async (driver) => {
      const reply = await driver.callTool("trigger-sampling-request", { prompt: "knot?", maxTokens: 10 });
      ok(reply.text.includes("knot? bowline"), reply.text);
    },
    roots: async (driver) => ok((await driver.callTool("get-roots-list", {})).text.includes("file:///harbour")),
  });
}

/** Runs the official server for files, which takes its folders from the client's roots. */
async function runFilesystem(start: Start): Promise<Outcome[]> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "interop-")));
  const note = join(folder, "note.txt");
  writeFileSync(note, "ahoy");
  const answers: Answers = {
    elicit: () => ({ action: "decline" }),
    sample: () => "",
    roots: [{ uri: pathToFileURL(folder).href, name: "notes" }],
  };
  try {
    return await drive(start.pair, commandOf(start, "server-filesystem", folder), answers, start.choice, {
      version: async (driver) => equal(driver.version, start.version),
      list: async (driver) => ok((await driver.listTools()).includes("read_text_file")),
      plain: async (driver) => equal((await driver.callTool("read_text_file", { path: note })).text, "ahoy"),
      roots: async (driver) => ok((await driver.callTool("list_allowed_directories", {})).text.includes(folder)),
      "tool error": async (driver) =>
        equal((await driver.callTool("read_text_file", { path: join(folder, "..", "elsewhere") })).isError, true),
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function commandOf({ flags }: Start, name: string, ...args: string[]): Target {
  return { wire: "stdio", command: process.execPath, args: [...flags, programOf(name), ...args] };
}

/** Connects, runs the checks in turn, and closes. */
export async function drive(
  pair: string,
  target: Target,
  answers: Answers,
  choice: Choice,
  checks: Checks,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const opened: Driver[] = [];
  const connected = await runCheck(
    pair,
    choice === "auto" ? "auto" : "connect",
    async () => void opened.push(await openBowline(target, choice, answers)),
  );
  outcomes.push(connected);
  for (const driver of opened) {
    for (const [check, work] of Object.entries(checks)) outcomes.push(await runCheck(pair, check, () => work(driver)));
    outcomes.push(await runCheck(pair, "close", () => driver.close()));
  }
  return outcomes;
}
