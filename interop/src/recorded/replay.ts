import { readFileSync } from "node:fs";
import { type ClientOptions, connect } from "bowline/client";
import { replayServer } from "bowline/testing";
import { inFolder, type PublishedServer } from "../published-servers.js";
import { differenceOf } from "./compare.js";
import { recordedAt } from "./places.js";
import { VISITOR, type Visit, visit } from "./visit.js";

/** Ways to replay a recording: as it was, and its calls for a client of either era. */
export const REPLAYS: readonly { readonly check: string; readonly era: ClientOptions["era"] }[] = [
  { check: "replay", era: undefined },
  { check: "legacy", era: "legacy" },
  { check: "modern", era: "modern" },
];

/** Visits the recording of a server, and throws if it differs from the server. */
export async function replayRecorded(server: PublishedServer, era: ClientOptions["era"]): Promise<void> {
  const { folder, file, visited } = recordedAt(server.name);
  const { version, seen } = JSON.parse(readFileSync(visited, "utf8")) as {
    readonly version: string;
    readonly seen: Visit;
  };
  const replay = await replayServer(file, { era: era === undefined ? "recorded" : "any" });
  try {
    const client = await connect(replay, { ...VISITOR, ...(era !== undefined && { era }) });
    try {
      if (era === undefined && client.version !== version)
        throw new Error(`the recording has ${version}, and the replay speaks ${client.version}`);
      const expected = era === "modern" ? withoutExecution(seen) : seen;
      const found = differenceOf(expected, await visit(client, inFolder(server, folder)));
      if (found !== undefined) throw new Error(found);
    } finally {
      await client.close();
    }
    replay.assertDone();
  } finally {
    await replay.close();
  }
}

/** Removes `execution` of tools, which 2026-07-28 does not define. */
function withoutExecution(seen: Visit): Visit {
  if (!Array.isArray(seen.tools)) return seen;
  return { ...seen, tools: seen.tools.map(({ execution: _, ...tool }: Readonly<Record<string, unknown>>) => tool) };
}
