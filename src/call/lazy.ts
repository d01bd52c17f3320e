/**
 * Wraps a dynamic import. It runs once, on first use; after that the module is returned synchronously. Concurrent
 * callers share one promise; a failed import is retried.
 *
 * A seam is a dynamic import of our own code. There are six, and `scripts/check-house.mjs` lists their imports. Each
 * reduces the code loaded at start, minified and gzipped:
 *
 * | seam | saves |
 * | --- | ---: |
 * | legacy era of a server | 17.8 kB |
 * | legacy era of a client | 7.3 kB |
 * | channels of a server, such as stdio | 2.8 kB |
 * | input requests by replay, with the seal | 7.8 kB |
 * | JSON Schema validator | 4.1 kB on a server, 6.0 kB on a client |
 * | parts for Node | 6.8 kB on a client, 14.0 kB on a server |
 */
export function lazyModule<Part>(load: () => Promise<Part>): () => Part | Promise<Part> {
  let part: Part | undefined;
  let loading: Promise<Part> | undefined;
  const loadNow = async () => {
    try {
      part = await load();
      return part;
    } finally {
      loading = undefined;
    }
  };
  return () => {
    if (part !== undefined) return part;
    loading ??= loadNow();
    return loading;
  };
}
