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
