/** Whether a promise that never rejects resolves within the time. Leaves no timer behind. */
export function settlesWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false);
    promise.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
