import { deepEqual, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { loadScript } from "../project/load-script.js";

interface Trips {
  /** Commands before the response is complete. They depend on the speed of the engine in part. */
  readonly before: number;
  readonly all: number;
}

const { countOperations } = await loadScript<{
  countOperations(engine: string, url: string): Promise<Readonly<Record<string, Trips>>>;
}>("bench/measure/round-trips.mjs");

const page = readFileSync(new URL("../../../docs/cluster.md", import.meta.url), "utf8");

/** A message that comes late on a busy machine is counted with another operation. */
const ATTEMPTS = 3;

/** Messages that come together are read by one command, so that one more or less is no difference. None is none. */
const isAlike = (one: number, other: number) => one === other || (one > 0 && other > 0 && Math.abs(one - other) === 1);

/** Registers the test that compares the round trips of each operation with a column of docs/cluster.md. */
export function roundTripTests(engine: string, column: string, open: () => Promise<RunningEngine>): void {
  test(`${engine}: each operation sends the commands that the page states`, { timeout: 240_000 }, async (t) => {
    const { url, end } = await open();
    t.after(end);
    const stated = statedIn(column);
    const seen: Record<string, number[]> = {};
    const hasIt = (name: string) => seen[name]?.some((count) => isAlike(count, stated[name] ?? -1)) === true;
    const differing = () => Object.keys(stated).filter((name) => !hasIt(name));
    for (let attempt = 0; attempt < ATTEMPTS && differing().length > 0; attempt++)
      for (const [name, { all }] of Object.entries(await countOperations(engine, url))) {
        seen[name] ??= [];
        seen[name].push(all);
      }
    deepEqual(Object.keys(seen), Object.keys(stated));
    deepEqual(
      differing().map((name) => `${name}: ${stated[name]} stated, ${seen[name]} counted`),
      [],
    );
  });
}

interface RunningEngine {
  readonly url: string;
  end(): Promise<void>;
}

/** Returns the commands in all of each operation: 5 of `4 of 5`. */
function statedIn(column: string): Readonly<Record<string, number>> {
  const [, head = "", body = ""] = /^\| (operation \|.*)\n\| ---.*\n((?:\|.*\n)+)/m.exec(page) ?? [];
  const cells = (line: string) => line.split("|").map((cell) => cell.trim());
  const place = cells(head).indexOf(column);
  ok(place > 0, `docs/cluster.md has no column ${column}`);
  const rows = body
    .trim()
    .split("\n")
    .map((line) => cells(line.slice(1)));
  return Object.fromEntries(rows.map((row) => [row[0] ?? "", Number(row[place]?.split(" of ").at(-1))]));
}
