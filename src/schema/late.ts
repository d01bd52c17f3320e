/**
 * A part that is loaded when it is first asked for: from then on it is there without a promise. A load that fails is tried
 * again by the next who asks.
 */
export function late<Part>(load: () => Promise<Part>): () => Part | Promise<Part> {
  let part: Part | undefined;
  const loadNow = async () => {
    part = await load();
    return part;
  };
  return () => part ?? loadNow();
}
