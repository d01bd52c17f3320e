import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execNode } from "../lib/exec.mjs";
import { at } from "../lib/project.mjs";

const CHILD = fileURLToPath(new URL("play/child.mjs", import.meta.url));

/**
 * Plays the corpus against a build in its own process.
 * @param {string} side name of the transcript
 * @param {string} dist
 * @param {{ seed: number, count: number, only?: string }} corpus
 * @returns {Promise<Map<string, string>>} the transcript of each scenario, as it was written
 */
export async function transcribe(side, dist, corpus) {
  const folder = at("build", "oracle", "transcripts");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${side}-${process.pid}.txt`);
  const { code, output } = await execNode(["--no-warnings", CHILD, JSON.stringify({ dist, file, corpus })]);
  if (code !== 0) throw new Error(`the ${side} side ended with ${code}:\n${output}`);
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  rmSync(file);
  return new Map(
    lines.map((line) => [JSON.parse(line.slice(0, line.indexOf("\t"))), line.slice(line.indexOf("\t") + 1)]),
  );
}
