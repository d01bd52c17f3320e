import { appendFileSync, mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { watchTraffic } from "./traffic.js";

/** A way to connect a client and a server: its name (`modern-memory`) and what opens it for one test. */
export interface Wire<World> {
  readonly name: string;
  open(t: TestContext): Promise<World> | World;
}

export type ScenarioBody<World> = (world: World, t: TestContext) => Promise<void> | void;

export interface ProvesOptions {
  /**
   * Where the requirement is proved: a wire's name (`legacy-stdio`), or a transport for both eras (`http` for a test
   * that speaks HTTP itself, `stdio`, `sse`, `memory`). Left out: the behaviour uses no wire.
   */
  readonly wire?: string;
}

/** Proves requirements on several wires: one test per wire, named `<ids> [wire]`. */
export function verifies<World>(
  ids: string | readonly string[],
  wires: readonly Wire<World>[],
  body: ScenarioBody<World>,
): void;
export function verifies<World>(
  ids: string | readonly string[],
  title: string,
  wires: readonly Wire<World>[],
  body: ScenarioBody<World>,
): void;
export function verifies<World>(
  ids: string | readonly string[],
  ...rest:
    | [wires: readonly Wire<World>[], body: ScenarioBody<World>]
    | [title: string, wires: readonly Wire<World>[], body: ScenarioBody<World>]
): void {
  const [title, wires, body] = rest.length === 3 ? rest : [undefined, ...rest];
  const proved = listed(ids);
  // A run on two nodes leaves out some hosts, and with them all wires of some tests.
  if (wires.length === 0 && !onNodes) throw new Error(`${proved.join(", ")}: no wire to run on`);
  for (const wire of wires) {
    const name = `${proved.join(", ")}${title === undefined ? "" : `: ${title}`} [${wire.name}]`;
    register(proved, wire.name, name, async (t) => body(await wire.open(t), t));
  }
}

/** Proves requirements by one test that runs on one wire or on none, named `<ids>: <title> [wire]`. */
export function proves(
  ids: string | readonly string[],
  options: ProvesOptions,
  title: string,
  body: (t: TestContext) => Promise<void> | void,
): void {
  const proved = listed(ids);
  const name = `${proved.join(", ")}: ${title}${options.wire === undefined ? "" : ` [${options.wire}]`}`;
  register(proved, options.wire, name, body);
}

function listed(ids: string | readonly string[]): readonly string[] {
  const list = typeof ids === "string" ? [ids] : ids;
  if (list.length === 0 || list.includes("")) throw new Error("a scenario test names the requirements it proves");
  return list;
}

const onNodes = process.env.BOWLINE_NODES !== undefined;

/** A message that gets lost between two nodes must not stop the run. */
const LIMIT = onNodes ? { timeout: 30_000 } : {};

function register(
  ids: readonly string[],
  wire: string | undefined,
  name: string,
  body: (t: TestContext) => Promise<void> | void,
): void {
  test(name, LIMIT, async (t) => {
    const seen = watchTraffic();
    let passed = false;
    try {
      await body(t);
      passed = true;
    } finally {
      // Hooks run in the order they are registered: when the wire fails to close, nothing is proved.
      t.after(() => record({ wire, test: `${testFile()}:${name}`, passed, traffic: seen() }, ids));
    }
  });
}

/** What a test leaves for the gate. */
interface Proof {
  readonly wire: string | undefined;
  readonly test: string;
  readonly passed: boolean;
  /** The wires on which something passed during the test, as they were seen. */
  readonly traffic: readonly string[];
}

/** One line per requirement, in a file of this process alone; only a full run asks for proofs. */
function record(proof: Proof, ids: readonly string[]): void {
  const folder = process.env.BOWLINE_PROOFS;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  const lines = ids.map((id) => `${JSON.stringify({ id, ...proof })}\n`);
  appendFileSync(join(folder, `${process.pid}-0.jsonl`), lines.join(""));
}

function testFile(): string {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  return relative(root, process.argv[1] ?? "").replaceAll("\\", "/");
}
