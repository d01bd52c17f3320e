/** Tells somebody who may fail at listening, and must not change what happens by it: a logger, a hook of the author's. */
export function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // Nobody is left to tell.
  }
}
