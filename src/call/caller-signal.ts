const followers = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls the listener once when the signal fires; returns the way to stop listening. However many follow one signal, it
 * has one listener of ours: a signal that lives as long as its program serves any number of calls.
 */
export function followSignal(signal: AbortSignal, listener: () => void): () => void {
  let listeners = followers.get(signal);
  if (listeners === undefined) {
    listeners = new Set();
    followers.set(signal, listeners);
    signal.addEventListener("abort", onAbort, { once: true });
  }
  const all = listeners;
  all.add(listener);
  return () => {
    if (!all.delete(listener) || all.size > 0 || followers.get(signal) !== all) return;
    followers.delete(signal);
    signal.removeEventListener("abort", onAbort);
  };
}

function onAbort(event: Event): void {
  const signal = event.target as AbortSignal;
  const listeners = followers.get(signal) ?? [];
  followers.delete(signal);
  for (const listener of [...listeners]) listener();
}
