import { MAX_SKEW_MS, timeOfDay } from "../../call/clock.js";
import { Busy } from "../../era/busy.js";
import type { OpenedState, ServerRuntime, StateSeal } from "../../era/server-era.js";
import { toBase64Url } from "../../protocol/base64.js";
import { sha256 } from "../../protocol/bytes.js";
import { DefinitionError, isStateAway, McpError } from "../../protocol/errors.js";
import { INVALID_PARAMS, Refusal } from "../../protocol/jsonrpc/errors.js";
import { KeyRing } from "../../protocol/key-ring.js";
import { quoted } from "../../protocol/text.js";
import type { ServerOptions } from "../options.js";
import type { SealKey, SealOptions, StateCipher, StateCodec } from "./options.js";
import { SharedStates, stateIsAway } from "./shared-states.js";
import { UsedStates } from "./used-states.js";

/**
 * Creates a cipher with AES-256-GCM. The binding is authenticated as additional data. The first key seals, all keys
 * open.
 */
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
      if (!ring.ids.includes(keyId)) throw new Error(`sealed with key ${quoted(keyId, 64)}, which is not in stateKeys`);
      try {
        return { id: iv, plain: await ring.decrypt({ keyId, iv, data }, binding) };
      } catch (cause) {
        // Web Crypto gives no reason.
        const why =
          "changed, made for another request or caller, or sealed by a process with another key: share stateKeys";
        throw new Error(why, { cause });
      }
    },
  };
}

/** Creates a cipher from a custom codec. It adds an id and a digest of the binding to each text. */
export function createCodecCipher(codec: StateCodec): StateCipher {
  return {
    async close(plain, binding) {
      const text: unknown = await codec.encode(JSON.stringify([crypto.randomUUID(), await digest(binding), plain]));
      if (typeof text !== "string") throw new DefinitionError("stateCodec.encode must return a string");
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
  return toBase64Url(await sha256(text));
}

interface Payload {
  readonly until: number;
  readonly state: unknown;
}

/** Maximum length of a sealed text. */
const MAX_TEXT = 256 * 1024;

/**
 * Creates a seal from valid options. The binding (caller, method and arguments) and the audience are authenticated, and
 * the expiry is sealed with the state. So a state is valid for one request of one caller and for a short time. The clocks
 * of processes that share keys may differ a little, so that a state is also accepted for as long after its expiry.
 */
export function createStateSeal(options: SealOptions): StateSeal {
  const { ttlMs, clock } = options;
  const cipher = createCipher(options.keys, options.codec);
  // Without keys of the author, no other process seals a state for this one.
  const skewMs = options.keys === undefined && options.codec === undefined ? 0 : MAX_SKEW_MS;
  const audience = `${JSON.stringify(options.audience)} `;

  const read = async (text: string, binding: string): Promise<OpenedState> => {
    if (text.length > MAX_TEXT) throw new Error(`it is longer than ${MAX_TEXT} characters`);
    const { id, plain } = await cipher.open(text, audience + binding);
    const payload = JSON.parse(plain) as Payload;
    const left = payload.until - timeOfDay(clock);
    if (!(left >= -skewMs)) throw new Error("expired (limits.stateTtlMs)");
    if (left > ttlMs + skewMs)
      throw new Error("expires too late: clocks or limits.stateTtlMs differ between processes");
    const until = payload.until + skewMs;
    if ((await options.accept?.(id, until)) === false) throw new Error("acceptState returned false");
    return { state: payload.state, use: options.used?.use(id, until) };
  };

  return {
    async seal(state, binding) {
      const plain = JSON.stringify({ until: timeOfDay(clock) + ttlMs, state } satisfies Payload);
      const text = await cipher.close(plain, audience + binding).catch((cause: unknown) => {
        throw new Error("The requestState could not be sealed", { cause });
      });
      if (text.length > MAX_TEXT)
        throw new Error(`The requestState has ${text.length} characters, more than the limit of ${MAX_TEXT}`);
      return text;
    },
    async open(text, binding) {
      try {
        return await read(text, binding);
      } catch (error) {
        if (error instanceof Busy) throw error;
        options.onRefused(error);
        throw refusal();
      }
    },
    async tryOpen(text, binding) {
      return read(text, binding).catch(() => undefined);
    },
  };
}

/** Creates the seal of a server. Its options have been checked. */
export function createServerSeal(runtime: ServerRuntime, options: ServerOptions): StateSeal {
  const { stateKeys: keys, stateCodec: codec, acceptState: accept, cluster } = options;
  const onRefused = (reason: unknown) =>
    runtime.report(toRefused(reason), { where: "requestState" }, reason instanceof McpError ? undefined : "warn");
  const createUsed = () => {
    if (cluster === undefined) return new UsedStates(runtime.clock, runtime.limits, MAX_SKEW_MS);
    const refuse = (reason: unknown) => {
      onRefused(reason);
      return refusal();
    };
    return new SharedStates({ cluster, cipher: createCipher(keys, codec), runtime, refuse });
  };
  return createStateSeal({
    keys,
    codec,
    audience: runtime.audience,
    ttlMs: runtime.limits.stateTtlMs,
    clock: runtime.clock,
    accept: accept && ((id, untilMs) => accepts(accept, id, untilMs, runtime)),
    used: accept === undefined ? createUsed() : undefined,
    onRefused,
  });
}

/** Asks an author's function for a state. While the function cannot tell, the state is refused for now. */
async function accepts(
  accept: NonNullable<ServerOptions["acceptState"]>,
  id: string,
  untilMs: number,
  runtime: ServerRuntime,
): Promise<boolean> {
  try {
    return await accept(id, untilMs);
  } catch (error) {
    if (!isStateAway(error)) throw error;
    runtime.report(error, { where: "requestState" });
    throw stateIsAway(runtime);
  }
}

function createCipher(keys: readonly SealKey[] | undefined, codec: StateCodec | undefined): StateCipher {
  return codec === undefined ? createKeyCipher(keys) : createCodecCipher(codec);
}

function refusal(): Refusal {
  return new Refusal(INVALID_PARAMS, "Invalid params: /requestState is not valid");
}

function toRefused(reason: unknown): Error {
  if (reason instanceof McpError) return reason;
  const why = reason instanceof Error ? reason.message : String(reason);
  return new Error(`A requestState was refused: ${why}`);
}
