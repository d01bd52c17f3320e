import { deepEqual } from "node:assert/strict";
import type { TestContext } from "node:test";

/** Fails the test for a rejection that nobody looked at. Such a rejection ends a process. */
export function watchRejections(t: TestContext): void {
  const seen: unknown[] = [];
  const listen = (reason: unknown) => void seen.push(reason);
  process.on("unhandledRejection", listen);
  t.after(async () => {
    await new Promise(setImmediate);
    process.off("unhandledRejection", listen);
    deepEqual(seen, []);
  });
}
