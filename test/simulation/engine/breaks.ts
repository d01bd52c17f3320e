import { LOG_NOTICE } from "#src/cluster/logs.js";
import type { MemoryEngine } from "#src/cluster/memory/store.js";

/** Safeguards of the engine that a run switches off, to show that the checks see their absence. */
export const ENGINE_BREAKS = ["fence", "end", "gap", "answer", "wake", "drop"] as const;
/** Safeguards of tasks. */
export const TASK_BREAKS = ["lease", "journal", "requeue"] as const;

export const BREAKS = [...ENGINE_BREAKS, ...TASK_BREAKS] as const;

export type Break = (typeof BREAKS)[number];

/** Takes a safeguard from the state of an engine. */
export function removeSafeguard(engine: MemoryEngine, broken: Break | undefined): void {
  const { records, logs } = engine;
  const append = logs.append.bind(logs);
  if (broken === "fence") appendUnfenced(engine);
  else if (broken === "end")
    logs.append = (claimed, seq, entries) =>
      append(
        claimed,
        seq,
        entries.map(({ data }) => ({ data, last: false })),
      );
  else if (broken === "wake") {
    const send = engine.send.bind(engine);
    engine.send = (...texts) => send(...texts.filter((text) => !text.startsWith(LOG_NOTICE)));
  } else if (broken === "drop") logs.drop = () => false;
  else if (broken === "answer") {
    const [put, remove] = [records.put.bind(records), records.delete.bind(records)];
    const isCompared = (key: string) => /^(lease|job)\//.test(key);
    records.put = (key, value, { ifVersion, ...rest }) =>
      put(key, value, isCompared(key) ? { ...rest, ifVersion } : rest);
    records.delete = (key, ifVersion) => remove(key, isCompared(key) ? ifVersion : undefined);
  }
}

/** Lets a writer append after a newer claim: it claims the stream again. */
function appendUnfenced({ logs }: MemoryEngine): void {
  const [claim, append] = [logs.claim.bind(logs), logs.append.bind(logs)];
  /** Node of each claim, and sequence number from which it counts. */
  const claims = new Map<string, { readonly node: string; readonly from: number }>();
  logs.claim = (log, stream, node, name) => {
    claims.set(name, { node, from: 0 });
    return claim(log, stream, node, name);
  };
  logs.append = (claimed, seq, entries) => {
    const { node = "", from = 0 } = claims.get(claimed.claim) ?? {};
    const results = append(claimed, seq - from, entries);
    if (results[0] !== "fenced") return results;
    claim(claimed.log, claimed.stream, node, claimed.claim);
    claims.set(claimed.claim, { node, from: seq });
    return append(claimed, 0, entries);
  };
}
