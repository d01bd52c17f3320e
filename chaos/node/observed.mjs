import { withParts } from "./parts.mjs";
import { withoutFence } from "./unfenced.mjs";

/** Stream of the messages outside calls. */
const STANDALONE = "get";

/**
 * Records what only the cluster shows: answers to questions of other nodes, nodes that take a stream over, and streams of
 * calls that are resumed on another node. `broken` is the safeguard that is switched off.
 */
export function observe(cluster, { truth, broken }) {
  const base = broken === "fence" ? withoutFence(cluster) : cluster;
  const records = withParts(base.records, { put: observedPut(base, truth) });
  return withParts(base, { records, logs: withParts(base.logs, observedStreams(base, truth)) });
}

function observedPut({ records, node }, truth) {
  const turns = new Map();
  return async (key, value, options) => {
    const version = await records.put(key, value, options);
    const [kind, ...rest] = key.split(":");
    if (version === undefined) return undefined;
    if (kind === "question" && rest[0] !== node) truth.write("elsewhere", rest[1]);
    if (kind === "session") noteHolder(rest.join(":"), JSON.parse(value));
    return version;
  };

  /** Writes a holder once: the record of a session is stored for other changes, too. */
  function noteHolder(session, { holder, ended }) {
    if (ended !== undefined) turns.delete(session);
    else if (holder?.node === node && turns.get(session) !== holder.turn) {
      turns.set(session, holder.turn);
      truth.write("hold", session, holder.listens ? "get" : "handshake");
    }
  }
}

function observedStreams({ logs }, truth) {
  const own = new Set();
  return {
    claim(log, stream) {
      own.add(`${log} ${stream}`);
      return logs.claim(log, stream);
    },
    follow(log, stream, ...rest) {
      if (stream !== STANDALONE && !own.has(`${log} ${stream}`))
        truth.write("resume", log.slice("session:".length), stream);
      return logs.follow(log, stream, ...rest);
    },
  };
}
