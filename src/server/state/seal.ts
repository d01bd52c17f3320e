import type { OpenedState, ServerRuntime, StateSeal } from "../../era/server-era.js";
import { toBase64Url } from "../../protocol/base64.js";
import { McpError } from "../../protocol/errors.js";
import { INVALID_PARAMS, Refusal } from "../../protocol/jsonrpc/errors.js";
import { KeyRing } from "../../protocol/key-ring.js";
import type { ServerOptions } from "../options.js";
import type { SealKey, SealOptions, StateCodec } from "./options.js";
import { UsedStates } from "./used-states.js";

/** Turns a text that is bound to a request into one for the wire, and back. */
export interface StateCipher {
  close(plain: string, binding: string): Promise<string>;
  /** The text, and a name that it alone has. Rejects with an error that says why it cannot be had. */
  open(text: string, binding: string): Promise<{ readonly id: string; readonly plain: string }>;
}

/** AES-256-GCM with the binding authenticated beside the text. Any key of the ring opens; the first seals. */
export function createKeyCipher(keys: readonly SealKey[] | undefined): StateCipher {
  const ring = new KeyRing(keys);
  return {
    async close(plain, binding) {
      const { keyId, iv, data } = await ring.encrypt(plain, binding);
      return `${keyId}.${iv}.${data}`;
    },
    async open(text, binding) {
      const [keyId = "", iv, data, ...rest] = text.split(".");
      if (iv === undefined || data === undefined || rest.length > 0) throw new Error("not in this server's format");
      if (!ring.ids.includes(keyId)) throw new Error(`sealed with key "${keyId}", which is not in this server's ring`);
      try {
        return { id: iv, plain: await ring.decrypt({ keyId, iv, data }, binding) };
      } catch (cause) {
        // Web Crypto says no more than that it failed.
        const why =
          "altered, made for another request or caller, or sealed by a process with another key: share stateKeys";
        throw new Error(why, { cause });
      }
    },
  };
}

/** An author's codec, given each text with a name and a digest of its binding. */
export function createCodecCipher(codec: StateCodec): StateCipher {
  return {
    async close(plain, binding) {
      const text: unknown = await codec.encode(JSON.stringify([crypto.randomUUID(), await digest(binding), plain]));
      if (typeof text !== "string") throw new TypeError("stateCodec.encode returned no string");
      return text;
    },
    async open(text, binding) {
      const [id, bound, plain] = JSON.parse(await codec.decode(text)) as [string, string, string];
      if (bound !== (await digest(binding))) throw new Error("made for another request or caller");
      return { id, plain };
    },
  };
}

async function digest(text: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

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

  const read = async (text: string, binding: string): Promise<OpenedState> => {
    if (text.length > MAX_TEXT) throw new Error("longer than any state of this server");
    const { id, plain } = await cipher.open(text, audience + binding);
    const payload = JSON.parse(plain) as Payload;
    const left = payload.until - now();
    if (!(left >= 0)) throw new Error("expired");
    if (left > ttlMs + MAX_SKEW_MS) throw new Error("made in the future, or with a longer life than states have");
    if ((await options.accept?.(id, payload.until)) === false) throw new Error("not accepted, as one used before");
    return { state: payload.state, use: options.used?.use(id) };
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
        return await read(text, binding);
      } catch (error) {
        options.onRefused(error);
        throw new Refusal(INVALID_PARAMS, "Invalid params: /requestState is not valid");
      }
    },
    async tryOpen(text, binding) {
      return read(text, binding).catch(() => undefined);
    },
  };
}

/** The seal of one server. What is wrong with the options has been said. */
export function createServerSeal(runtime: ServerRuntime, options: ServerOptions): StateSeal {
  return createStateSeal({
    keys: options.stateKeys,
    codec: options.stateCodec,
    audience: options.stateAudience ?? runtime.info.name,
    ttlMs: runtime.limits.stateTtlMs,
    clock: runtime.clock,
    accept: options.acceptState,
    used: options.acceptState === undefined ? new UsedStates(runtime.clock, runtime.limits) : undefined,
    onRefused: (reason) => runtime.report(toRefused(reason), { where: "requestState" }),
  });
}

function toRefused(reason: unknown): Error {
  if (reason instanceof McpError) return reason;
  const why = reason instanceof Error ? reason.message : String(reason);
  return new Error(`a requestState was refused: ${why}`);
}
