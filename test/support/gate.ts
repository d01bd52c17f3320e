/** A door that a test opens once: handlers wait behind it, or tell the test that they have come this far. */
export interface Gate<T = void> {
  readonly opened: Promise<T>;
  open(value: T): void;
}

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => {};
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Resolves with the reason when the signal fires. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  if (signal.aborted) return Promise.resolve(signal.reason);
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason), { once: true }));
}
