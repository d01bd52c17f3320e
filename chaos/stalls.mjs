/** Time between two looks, and lateness of a look from which on the machine does not let the process run as it should. */
const LOOK_MS = 200;
const LATE_MS = 150;
/** Time of looks that are all late from which on it is a stall. */
const STALL_MS = 1_000;

/** Records the times in which a busy machine does not let this process run. Returns a function that ends it. */
export function recordStalls(truth) {
  let last = Date.now();
  let begunAt;
  const look = () => {
    const now = Date.now();
    begunAt = now - last - LOOK_MS < LATE_MS ? undefined : (begunAt ?? last);
    last = now;
    if (begunAt === undefined || now - begunAt < STALL_MS) return;
    truth.write("stall", now - begunAt);
    begunAt = undefined;
  };
  const timer = setInterval(look, LOOK_MS).unref();
  return () => clearInterval(timer);
}
