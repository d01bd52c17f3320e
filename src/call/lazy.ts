/**
 * A part that is loaded when it is first asked for: from then on it is there without a promise. All who wait for it wait
 * for the same. A load that fails is tried again by the next who asks.
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
