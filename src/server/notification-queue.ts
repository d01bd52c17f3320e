/** Hands notifications to their handlers in the order in which they came: at once, unless a check has to be waited for. */
export class NotificationQueue {
  #last: Promise<void> | undefined;

  /** `parse` may throw, and may return a promise; `handle` is not waited for. What either throws goes to `onError`. */
  deliver(parse: () => unknown, handle: (params: unknown) => unknown, onError: (error: unknown) => void): void {
    try {
      const parsed = parse();
      if (this.#last === undefined && !(parsed instanceof Promise)) return run(handle, parsed, onError);
      this.#enqueue(parsed, handle, onError);
    } catch (error) {
      onError(error);
    }
  }

  #enqueue(parsed: unknown, handle: (params: unknown) => unknown, onError: (error: unknown) => void): void {
    const settled = Promise.resolve(parsed).then(
      (params) => () => run(handle, params, onError),
      (error: unknown) => () => onError(error),
    );
    const delivered: Promise<void> = Promise.resolve(this.#last).then(async () => {
      (await settled)();
      if (this.#last === delivered) this.#last = undefined;
    });
    this.#last = delivered;
  }
}

function run(handle: (params: unknown) => unknown, params: unknown, onError: (error: unknown) => void): void {
  try {
    const handled = handle(params);
    if (handled instanceof Promise) handled.catch(onError);
  } catch (error) {
    onError(error);
  }
}
