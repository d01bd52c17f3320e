/** Returns a cluster with some parts replaced. */
export function withParts(cluster, parts) {
  return new Proxy(cluster, {
    get(target, name) {
      if (name in parts) return parts[name];
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Records what only the cluster shows: answers to questions of other nodes, and nodes that take a stream over. */
export function observe(cluster, truth) {
  const { records, node } = cluster;
  const put = async (key, value, options) => {
    const version = await records.put(key, value, options);
    const [kind, ...rest] = key.split(":");
    if (version === undefined) return undefined;
    if (kind === "question" && rest[0] !== node) truth.write("elsewhere", rest[1]);
    if (kind === "holder" && JSON.parse(value).node === node) truth.write("hold", rest.join(":"));
    return version;
  };
  return withParts(cluster, { records: withParts(records, { put }) });
}
