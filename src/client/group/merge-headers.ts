/** Headers of two sources, in whatever form they were given; where both name one, the second decides. */
export function mergeHeaders(first: HeadersInit | undefined, second: HeadersInit | undefined): Headers {
  const merged = new Headers(first);
  for (const [name, value] of new Headers(second)) merged.set(name, value);
  return merged;
}
