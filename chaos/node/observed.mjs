import { withParts } from "./parts.mjs";
import { withoutFence } from "./unfenced.mjs";

/**
 * Records what only the cluster shows: answers to questions of other nodes, and nodes that take a stream over. `broken` is
 * the safeguard that is switched off.
 */
export function observe(cluster, { truth, broken }) {
  const { records, node } = cluster;
  const put = async (key, value, options) => {
    const version = await records.put(key, value, options);
    const [kind, ...rest] = key.split(":");
    if (version === undefined) return undefined;
    if (kind === "question" && rest[0] !== node) truth.write("elsewhere", rest[1]);
    if (kind === "holder" && JSON.parse(value).node === node) truth.write("hold", rest.join(":"));
    return version;
  };
  return withParts(broken === "fence" ? withoutFence(cluster) : cluster, { records: withParts(records, { put }) });
}
