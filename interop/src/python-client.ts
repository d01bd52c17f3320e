import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Era } from "./driver.js";
import type { Neighbour } from "./neighbours.js";
import { pathOf, preparePython } from "./python.js";
import { type Outcome, runCheck, START_MS } from "./run-pair.js";
import { startServer } from "./server-process.js";

const exec = promisify(execFile);
const MODES = ["stdio", "http"];
const ERAS: readonly Era[] = ["legacy", "modern"];

/** The client of the official Python SDK, a program that runs its checks and prints what came of them. */
export const pythonClients: readonly Neighbour[] = MODES.flatMap((mode) =>
  ERAS.map((era) => ({
    pair: `python -> bowline ${mode} ${era}`,
    needs: preparePython,
    run: () => runClient(`python -> bowline ${mode} ${era}`, mode, era),
  })),
);

type Told = readonly { readonly check: string; readonly problem: string | null; readonly ms: number }[];

async function runClient(pair: string, mode: string, era: Era): Promise<Outcome[]> {
  const { target, close } = await startServer("bowline", mode);
  const goal = target.wire === "http" ? [target.url] : [target.command, ...target.args];
  const outcomes: Outcome[] = [];
  try {
    const { stdout } = await exec(await preparePython(), [pathOf("python/client.py"), era, ...goal], {
      timeout: 120_000,
    });
    const told = JSON.parse(stdout) as Told;
    outcomes.push(...told.map(({ check, problem, ms }) => ({ pair, check, problem: problem ?? undefined, ms })));
  } catch (error) {
    outcomes.push({ pair, check: "connect", problem: String(error), ms: 0 });
  }
  return [...outcomes, await runCheck(pair, "stop", close, START_MS)];
}
