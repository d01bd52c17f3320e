import { fileURLToPath } from "node:url";
import type { Era } from "../driver.js";
import type { Neighbour } from "../neighbours.js";
import { isPeer, peerOf } from "../peers.js";
import { type Outcome, runCheck, START_MS } from "../run-pair.js";
import { type Served, startProgram } from "../server-process.js";
import { openBowline } from "./bowline.js";
import {
  errorChecks,
  listChecks,
  promotionChecks,
  questionChecks,
  resumeChecks,
  type TaskChecks,
  taskChecks,
} from "./checks.js";
import { openFastMcp, openV1 } from "./clients.js";
import type { OpenTaskDriver, TaskDriver } from "./driver.js";
import { openExtTasks } from "./official.js";

const OPEN = { bowline: openBowline, "ext-tasks": openExtTasks, v1: openV1, fastmcp: openFastMcp } satisfies Record<
  string,
  OpenTaskDriver
>;

interface TaskPair {
  readonly client: keyof typeof OPEN;
  readonly server: "bowline" | "fastmcp" | "v1";
  readonly era: Era;
  /** @default stdio and HTTP */
  readonly wires?: readonly string[];
  readonly checks: TaskChecks;
}

const WIRES = ["stdio", "http"];
const OURS: TaskChecks = { ...taskChecks, ...errorChecks, ...questionChecks };

/**
 * FastMCP has tasks in the modern era only. Over stdio each connection has a server of its own, and a task of 2025-11-25
 * belongs to its session, so that only modern clients over HTTP take up tasks of others.
 */
const PAIRS: readonly TaskPair[] = [
  {
    client: "ext-tasks",
    server: "bowline",
    era: "modern",
    wires: ["stdio"],
    checks: { ...OURS, ...promotionChecks },
  },
  {
    client: "ext-tasks",
    server: "bowline",
    era: "modern",
    wires: ["http"],
    checks: { ...OURS, ...promotionChecks, ...resumeChecks },
  },
  { client: "ext-tasks", server: "bowline", era: "legacy", checks: { ...OURS, ...listChecks } },
  { client: "v1", server: "bowline", era: "legacy", checks: { ...OURS, ...listChecks } },
  // Its client sends no Mcp-Name over HTTP.
  {
    client: "fastmcp",
    server: "bowline",
    era: "modern",
    wires: ["stdio", "lenient"],
    checks: { ...OURS, ...promotionChecks },
  },
  { client: "bowline", server: "fastmcp", era: "modern", checks: { ...taskChecks, ...questionChecks } },
  { client: "bowline", server: "v1", era: "legacy", checks: { ...taskChecks, ...listChecks } },
  { client: "bowline", server: "bowline", era: "modern", checks: { ...OURS, ...promotionChecks } },
  { client: "bowline", server: "bowline", era: "legacy", checks: { ...OURS, ...listChecks } },
];

/** Tasks of each SDK that has them, over stdio and HTTP. */
export const taskLines: readonly Neighbour[] = PAIRS.flatMap((pair) =>
  (pair.wires ?? WIRES).map((wire) => lineOf(pair, wire)),
);

function lineOf(pair: TaskPair, wire: string): Neighbour {
  const name = `${pair.client} -> ${pair.server} tasks:${wire} ${pair.era}`;
  const line = { pair: name, run: () => runLine(name, pair, wire) };
  const peer = [pair.client as string, pair.server].find(isPeer);
  return peer === undefined ? line : { ...line, needs: () => peerOf(peer) };
}

async function runLine(name: string, { client, server, era, checks }: TaskPair, wire: string): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const started: Served[] = [];
  outcomes.push(await runCheck(name, "start", async () => void started.push(await startTasks(server, wire)), START_MS));
  for (const served of started) {
    const open = () => OPEN[client](served.target, era);
    const opened: TaskDriver[] = [];
    outcomes.push(await runCheck(name, "connect", async () => void opened.push(await open()), START_MS));
    for (const driver of opened) {
      const session = { driver, era, reopen: open };
      for (const [check, work] of Object.entries(checks))
        outcomes.push(await runCheck(name, check, () => work(session)));
      outcomes.push(await runCheck(name, "disconnect", () => driver.close()));
    }
    outcomes.push(await runCheck(name, "stop", () => served.close(), START_MS));
  }
  return outcomes;
}

async function startTasks(sdk: TaskPair["server"], wire: string): Promise<Served> {
  const own = [process.execPath, fileURLToPath(new URL(`./servers/${sdk}.js`, import.meta.url))];
  return startProgram(isPeer(sdk) ? ((await peerOf(sdk)).tasks?.serve ?? []) : own, wire);
}
