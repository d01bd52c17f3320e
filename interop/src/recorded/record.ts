import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { connect } from "bowline/client";
import { inFolder, type PublishedServer, prepare } from "../published-servers.js";
import { recordedAt } from "./places.js";
import { VISITOR, visit } from "./visit.js";

const bowline = join(dirname(createRequire(import.meta.url).resolve("bowline/package.json")), "dist/cli/bin.js");

/** Servers start slowly on a busy machine. */
const START_MS = 60_000;

/** Visits a server through a tap (`bowline record`), as an application would start it. Writes the recording, and what was seen. */
export async function recordServer(server: PublishedServer): Promise<void> {
  const { folder, file, visited } = recordedAt(server.name);
  const start = await prepare(server, folder);
  mkdirSync(dirname(file), { recursive: true });
  const { command, args } = start;
  const tap = [bowline, "record", file, "--overwrite", "--", command, ...args];
  const target = { ...start, command: process.execPath, args: tap, stderr: "ignore" } as const;
  const client = await connect(target, { ...VISITOR, timeoutMs: START_MS });
  try {
    const seen = await visit(client, inFolder(server, folder));
    writeFileSync(visited, JSON.stringify({ version: client.version, seen }));
  } finally {
    await client.close();
  }
}
