import type { StateSeal } from "../../era/server-era.js";
import { INVALID_PARAMS, Refusal } from "../../protocol/jsonrpc/errors.js";
import type { SealOptions } from "./options.js";
import { createCodecCipher, createKeyCipher } from "./seal.js";

interface Payload {
  readonly until: number;
  readonly state: unknown;
}

/** How far the clocks of processes that share keys may be apart. */
const MAX_SKEW_MS = 60_000;
/** The longest sealed text taken from or given to a client. */
const MAX_TEXT = 256 * 1024;

/**
 * Seals state; the options are good. The binding (who, which method, which arguments) is authenticated beside it, and an expiry is inside, so a
 * state is good for one request of one caller for a short while.
 */
export function createStateSeal(options: SealOptions): StateSeal {
  const { keys, codec, ttlMs, clock } = options;
  const cipher = codec === undefined ? createKeyCipher(keys) : createCodecCipher(codec);
  const now = () => clock.timeOfDay?.() ?? Date.now();
  const audience = `${JSON.stringify(options.audience)} `;

  const read = async (text: string, binding: string): Promise<Payload> => {
    if (text.length > MAX_TEXT) throw new Error("longer than any state of this server");
    const { id, plain } = await cipher.open(text, audience + binding);
    const payload = JSON.parse(plain) as Payload;
    const left = payload.until - now();
    if (!(left >= 0)) throw new Error("expired");
    if (left > ttlMs + MAX_SKEW_MS) throw new Error("made in the future, or with a longer life than states have");
    if ((await options.accept?.(id, payload.until)) === false) throw new Error("not accepted, as one used before");
    return payload;
  };

  return {
    async seal(state, binding) {
      const plain = JSON.stringify({ until: now() + ttlMs, state } satisfies Payload);
      const text = await cipher.close(plain, audience + binding).catch((cause: unknown) => {
        throw new Error("the state of this call could not be sealed", { cause });
      });
      if (text.length > MAX_TEXT)
        throw new Error(`the state of this call is too large to send: ${text.length} characters`);
      return text;
    },
    async open(text, binding) {
      try {
        return (await read(text, binding)).state;
      } catch (error) {
        options.onRefused(error instanceof Error ? error.message : String(error));
        throw new Refusal(INVALID_PARAMS, "Invalid params: /requestState is not valid");
      }
    },
    async tryOpen(text, binding) {
      return (await read(text, binding).catch(() => undefined))?.state;
    },
  };
}
