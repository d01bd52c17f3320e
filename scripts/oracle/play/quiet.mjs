import { setImmediate as nextTurn } from "node:timers/promises";

const ASYNC_CRYPTO = [
  "decrypt",
  "deriveBits",
  "deriveKey",
  "digest",
  "encrypt",
  "exportKey",
  "generateKey",
  "importKey",
];
/** Turns of the event loop without any work after which a build is considered to wait for its peer or its clock. */
const STILL_TURNS = 6;

let working = 0;

/**
 * Counts work outside of the event loop, and makes random results and their order deterministic. Called once per
 * process.
 */
export function prepareProcess() {
  const { prototype } = globalThis.SubtleCrypto ?? crypto.subtle.constructor;
  for (const name of [...ASYNC_CRYPTO, "sign", "verify"]) {
    const original = prototype[name];
    prototype[name] = function counted(...args) {
      return during(inOrder(original.apply(this, args)));
    };
  }
  Math.random = () => 0.5;
}

let line = Promise.resolve();

/** Delivers results of other threads in the order of their requests, each in its own turn. */
function inOrder(promise) {
  const over = () => nextTurn();
  line = line.then(() => promise).then(over, over);
  return line.then(() => promise);
}

/** Counts a promise as work until it settles. */
export function during(promise) {
  working++;
  const over = () => {
    working--;
  };
  promise.then(over, over);
  return promise;
}

/** Resolves when nothing runs except for work that waits for the peer or the clock. */
export async function quiet(turns = STILL_TURNS) {
  for (let still = 0; still < turns; still = working === 0 ? still + 1 : 0) await nextTurn();
}

/** Resolves with true if a promise settles before the process becomes quiet. */
export async function settles(promise) {
  let settled = false;
  const mark = () => {
    settled = true;
  };
  promise.then(mark, mark);
  for (let still = 0; still < STILL_TURNS && !settled; still = working === 0 ? still + 1 : 0) await nextTurn();
  return settled;
}
