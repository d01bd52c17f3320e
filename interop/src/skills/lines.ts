import { fileURLToPath } from "node:url";
import type { Era } from "../driver.js";
import type { Sdk } from "../matrix.js";
import type { Neighbour } from "../neighbours.js";
import { isPeer, peerOf } from "../peers.js";
import { type Outcome, runCheck, START_MS } from "../run-pair.js";
import { type Served, startProgram } from "../server-process.js";
import {
  changeChecks,
  directoryChecks,
  fileOnlyChecks,
  frontmatterChecks,
  generatedChecks,
  resourceChecks,
  type SkillChecks,
  skillChecks,
  unannouncedChecks,
  verifyingChecks,
} from "./checks.js";
import { openBowline, openFastMcp, openV2 } from "./clients.js";
import type { OpenSkillDriver, SkillDriver } from "./driver.js";
import { writeSkills } from "./fixture.js";

type SkillSdk = "bowline" | "v2" | "fastmcp";

const OPEN: Readonly<Record<SkillSdk, OpenSkillDriver>> = { bowline: openBowline, v2: openV2, fastmcp: openFastMcp };

interface SkillPair {
  readonly client: SkillSdk;
  readonly server: SkillSdk;
  readonly eras: readonly Era[];
  /** @default stdio and HTTP */
  readonly wires?: readonly string[];
  readonly checks: SkillChecks;
}

const BOTH: readonly Era[] = ["legacy", "modern"];
const WIRES = ["stdio", "http"];

const VERIFYING: SkillChecks = { ...skillChecks, ...directoryChecks, ...verifyingChecks };

/** FastMCP has skills in the modern era only, verifies nothing and has no directories. */
const PAIRS: readonly SkillPair[] = [
  {
    client: "v2",
    server: "bowline",
    eras: BOTH,
    checks: { ...VERIFYING, ...generatedChecks, ...changeChecks, ...frontmatterChecks },
  },
  {
    client: "bowline",
    server: "v2",
    eras: BOTH,
    wires: ["stdio"],
    checks: { ...VERIFYING, ...changeChecks, ...frontmatterChecks },
  },
  {
    client: "bowline",
    server: "v2",
    eras: ["modern"],
    wires: ["http"],
    checks: { ...VERIFYING, ...changeChecks, ...frontmatterChecks },
  },
  // Its handler has no sessions, and so no notifications in this era.
  {
    client: "bowline",
    server: "v2",
    eras: ["legacy"],
    wires: ["http"],
    checks: { ...VERIFYING, ...frontmatterChecks },
  },
  {
    client: "fastmcp",
    server: "bowline",
    eras: ["modern"],
    checks: { ...skillChecks, ...generatedChecks, ...resourceChecks, ...frontmatterChecks },
  },
  { client: "fastmcp", server: "bowline", eras: ["legacy"], checks: resourceChecks },
  {
    client: "bowline",
    server: "fastmcp",
    eras: ["modern"],
    checks: { ...skillChecks, ...fileOnlyChecks, ...verifyingChecks, ...frontmatterChecks },
  },
  { client: "bowline", server: "fastmcp", eras: ["legacy"], checks: unannouncedChecks },
];

/** Skills of each SDK that has them, over stdio and HTTP. */
export const skillLines: readonly Neighbour[] = PAIRS.flatMap((pair) =>
  (pair.wires ?? WIRES).flatMap((wire) => pair.eras.map((era) => lineOf(pair, wire, era))),
);

function lineOf(pair: SkillPair, wire: string, era: Era): Neighbour {
  const name = `${pair.client} -> ${pair.server} skills:${wire} ${era}`;
  const line = { pair: name, run: () => runLine(name, pair, wire, era) };
  const peer = [pair.client as Sdk, pair.server as Sdk].find(isPeer);
  return peer === undefined ? line : { ...line, needs: () => peerOf(peer) };
}

async function runLine(
  name: string,
  { client, server, checks }: SkillPair,
  wire: string,
  era: Era,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const started: Served[] = [];
  let folder = "";
  const start = async () => {
    const served = await startSkills(server, wire, (created) => {
      folder = created;
    });
    started.push(served);
  };
  outcomes.push(await runCheck(name, "start", start, START_MS));
  for (const served of started) {
    const opened: SkillDriver[] = [];
    const open = async () => void opened.push(await OPEN[client](served.target, choiceOf(client, era)));
    outcomes.push(await runCheck(name, "connect", open, START_MS));
    for (const driver of opened) {
      const session = { driver, era, folder };
      for (const [check, work] of Object.entries(checks))
        outcomes.push(await runCheck(name, check, () => work(session)));
      outcomes.push(await runCheck(name, "disconnect", () => driver.close()));
    }
    outcomes.push(await runCheck(name, "stop", () => served.close(), START_MS));
  }
  return outcomes;
}

/** FastMCP's client, pinned to a version, sends no `server/discover` and so finds no skills. */
function choiceOf(client: SkillSdk, era: Era): Era | "auto" {
  return client === "fastmcp" && era === "modern" ? "auto" : era;
}

/** Starts a server of skills in a folder of its own. */
export async function startSkills(sdk: Sdk, wire: string, onFolder: (folder: string) => void): Promise<Served> {
  const own = [process.execPath, fileURLToPath(new URL(`./servers/${sdk}.js`, import.meta.url))];
  const command = isPeer(sdk) ? (await peerOf(sdk)).skills?.serve : own;
  return startProgram(command ?? [], wire, (folder) => {
    writeSkills(folder);
    onFolder(folder);
  });
}
