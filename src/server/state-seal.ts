import type { Clock } from "../call/clock.js";
import type { StateSeal } from "../era/era.js";
import { INVALID_PARAMS, Refusal } from "../jsonrpc/error-codes.js";
import { DefinitionError } from "../schema/errors.js";

/** A key of the ring. `id` tells keys apart and is readable by anyone; `secret` is 32 bytes. */
export interface SealKey {
  readonly id: string;
  readonly secret: Uint8Array;
}

export interface SealOptions {
  readonly keys: readonly SealKey[] | undefined;
  readonly ttlMs: number;
  /** Whom the state is for: servers that share keys but not this do not take each other's. */
  readonly audience: string;
  readonly clock: Clock;
  /** Whether a state may still be used; hears each one's name and when it ends. For servers that take a state once. */
  readonly accept?: ((id: string, untilMs: number) => boolean | Promise<boolean>) | undefined;
  /** Hears why a state was refused; the client does not. */
  readonly onRefused: (reason: string) => void;
}

const IV_BYTES = 12;
const KEY_BYTES = 32;
/** How far the clocks of processes that share keys may be apart. */
const MAX_SKEW_MS = 60_000;
/** The longest sealed text taken from or given to a client. */
const MAX_TEXT = 256 * 1024;

/**
 * Seals state with AES-256-GCM. The binding (who, which method, which arguments) is authenticated beside it, and an expiry
 * is inside, so a state is good for one request of one caller for a short while. Any key of the ring opens; the first seals.
 */
export function createStateSeal(options: SealOptions): StateSeal {
  const { keys = [] } = options;
  const ring = options.keys ?? [createProcessKey()];
  const first = ring[0];
  if (first === undefined) throw new DefinitionError("stateKeys must hold at least one key");
  const imported = new Map<string, Promise<CryptoKey>>();
  for (const key of keys) assertKey(key);
  assertDistinct(keys);
  if (!Number.isFinite(options.ttlMs) || options.ttlMs <= 0) {
    throw new DefinitionError(`stateTtlMs must be a positive number of milliseconds, not ${options.ttlMs}`);
  }
  const now = () => options.clock.timeOfDay?.() ?? Date.now();

  const keyFor = (key: SealKey): Promise<CryptoKey> => {
    let ready = imported.get(key.id);
    if (ready === undefined) {
      const raw = Uint8Array.from(key.secret);
      ready = crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
      imported.set(key.id, ready);
    }
    return ready;
  };
  const audience = `${JSON.stringify(options.audience)} `;
  const refuse = (reason: string): Refusal => {
    options.onRefused(reason);
    return new Refusal(INVALID_PARAMS, "Invalid params: /requestState is not valid");
  };

  return {
    async seal(state, binding) {
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
      const payload = encodeText(JSON.stringify({ until: now() + options.ttlMs, state }));
      const cipher = { name: "AES-GCM", iv, additionalData: encodeText(audience + binding) };
      const sealed = new Uint8Array(await crypto.subtle.encrypt(cipher, await keyFor(first), payload));
      const text = `${first.id}.${toBase64Url(iv)}.${toBase64Url(sealed)}`;
      if (text.length > MAX_TEXT)
        throw new Error(`the state of this call is too large to send: ${text.length} characters`);
      return text;
    },
    async open(text, binding) {
      if (text.length > MAX_TEXT) throw refuse("longer than any state of this server");
      const [id, iv, sealed, ...rest] = text.split(".");
      const key = ring.find((candidate) => candidate.id === id);
      if (iv === undefined || sealed === undefined || rest.length > 0) throw refuse("not in this server's format");
      if (key === undefined) throw refuse(`sealed with key "${id}", which is not in this server's ring`);
      const payload = await decrypt(await keyFor(key), iv, sealed, audience + binding);
      if (payload === undefined) {
        throw refuse(
          "altered, made for another request or caller, or sealed by a process with another key: share stateKeys",
        );
      }
      const left = payload.until - now();
      if (left < 0) throw refuse("expired");
      if (left > options.ttlMs + MAX_SKEW_MS)
        throw refuse("made in the future, or with a longer life than states have");
      if ((await options.accept?.(iv, payload.until)) === false) throw refuse("not accepted, as one used before");
      return payload.state;
    },
  };
}

/** Made when first used: some runtimes give no random bytes while a module is loaded, when most servers are made. */
function createProcessKey(): SealKey {
  let secret: Uint8Array | undefined;
  return {
    id: "process",
    get secret() {
      secret ??= crypto.getRandomValues(new Uint8Array(KEY_BYTES));
      return secret;
    },
  };
}

async function decrypt(
  key: CryptoKey,
  iv: string,
  sealed: string,
  binding: string,
): Promise<{ until: number; state: unknown } | undefined> {
  try {
    const cipher = { name: "AES-GCM", iv: fromBase64Url(iv), additionalData: encodeText(binding) };
    const plain = await crypto.subtle.decrypt(cipher, key, fromBase64Url(sealed));
    return JSON.parse(new TextDecoder().decode(plain));
  } catch {
    // Web Crypto says no more than that it failed, and neither do we.
    return undefined;
  }
}

function assertDistinct(ring: readonly SealKey[]): void {
  const ids = new Set(ring.map(({ id }) => id));
  const secrets = new Set(ring.map(({ secret }) => toBase64Url(secret)));
  if (ids.size < ring.length || secrets.size < ring.length) {
    throw new DefinitionError("stateKeys: each key needs an id and a secret of its own");
  }
}

function assertKey(key: SealKey): void {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(key.id))
    throw new DefinitionError(`state key id "${key.id}" must be 1-64 of A-Z a-z 0-9 _ -`);
  if (key.secret.byteLength !== KEY_BYTES) {
    throw new DefinitionError(`state key "${key.id}" must be ${KEY_BYTES} bytes long, not ${key.secret.byteLength}`);
  }
}

function encodeText(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function toBase64Url(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Throws for any text that the encoder would not have written, so that a state has one spelling. */
function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
  if (toBase64Url(bytes) !== text) throw new Error("not as it was encoded");
  return bytes;
}
