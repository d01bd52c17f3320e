import { mkdir, readFile, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { AuthStore } from "../../auth/client/store.js";
import { pause } from "../../call/abortable.js";
import { systemClock } from "../../call/clock.js";
import { AuthError } from "../../protocol/auth-error.js";
import { replaceFile } from "./replace-file.js";

const HEADER = "bowline-store-1";
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Age of a lock file after which its holder counts as dead. */
const STALE_MS = 15_000;
const BEAT_MS = 3_000;
const RETRY_MS = 20;

type Values = Record<string, unknown>;

/**
 * Creates a store for clients and tokens in a file. Only its owner can read it, and it is encrypted (AES-256-GCM) with
 * a key derived from `secret`. Several processes can share it: a token refresh happens once, and the other processes
 * see it.
 */
export function fileStore(path: string, secret: string | Uint8Array): AuthStore {
  if (typeof path !== "string" || path === "")
    throw new AuthError("configuration", 'fileStore needs the path of a file, as in fileStore("tokens", secret)');
  if (secret === undefined || secret.length === 0)
    throw new AuthError("configuration", `fileStore: the secret of ${path} must not be empty`);
  const keys = new Map<string, Promise<Buffer>>();
  const lock = `${path}.lock`;

  const change = async (edit: (values: Values) => void): Promise<void> => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await withFileLock(lock, async () => {
      const values = await load(path, secret, keys);
      edit(values);
      await save(path, values, secret, keys);
    });
  };

  return {
    textOnly: true,
    get: async (key) => (await load(path, secret, keys))[key],
    set: (key, value) =>
      change((values) => {
        values[key] = value;
      }),
    delete: (key) =>
      change((values) => {
        delete values[key];
      }),
    async lock(name, work, signal) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const { createHash } = await import("node:crypto");
      const id = createHash("sha256").update(name).digest("hex").slice(0, 16);
      return await withFileLock(`${path}.${id}.lock`, work, signal);
    },
  };
}

async function load(path: string, secret: string | Uint8Array, keys: Map<string, Promise<Buffer>>): Promise<Values> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
  const start = HEADER.length + SALT_BYTES;
  const salt = bytes.subarray(HEADER.length, start);
  const nonce = bytes.subarray(start, start + NONCE_BYTES);
  const tag = bytes.subarray(-TAG_BYTES);
  const { createDecipheriv } = await import("node:crypto");
  try {
    const decipher = createDecipheriv("aes-256-gcm", await keyFor(salt, secret, keys), nonce);
    decipher.setAAD(bytes.subarray(0, start)).setAuthTag(tag);
    const text = Buffer.concat([decipher.update(bytes.subarray(start + NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    return Object.assign(Object.create(null), JSON.parse(text.toString("utf8"))) as Values;
  } catch {
    throw new AuthError(
      "configuration",
      `${path} cannot be decrypted: the secret is wrong, or the file is not a store`,
    );
  }
}

async function save(
  path: string,
  values: Values,
  secret: string | Uint8Array,
  keys: Map<string, Promise<Buffer>>,
): Promise<void> {
  const { createCipheriv, randomBytes } = await import("node:crypto");
  const salt = [...keys.keys()].map((each) => Buffer.from(each, "hex"))[0] ?? randomBytes(SALT_BYTES);
  const nonce = randomBytes(NONCE_BYTES);
  const head = Buffer.concat([Buffer.from(HEADER), salt]);
  const cipher = createCipheriv("aes-256-gcm", await keyFor(salt, secret, keys), nonce).setAAD(head);
  const body = Buffer.concat([cipher.update(JSON.stringify(values), "utf8"), cipher.final()]);
  await replaceFile(path, Buffer.concat([head, nonce, body, cipher.getAuthTag()]));
}

/**
 * Returns the key for a salt. Deriving a key is slow on purpose, so it is done once per salt. The salt of a file does
 * not change.
 */
function keyFor(salt: Buffer, secret: string | Uint8Array, keys: Map<string, Promise<Buffer>>): Promise<Buffer> {
  const id = salt.toString("hex");
  const known = keys.get(id) ?? derive(secret, salt);
  keys.set(id, known);
  return known;
}

async function derive(secret: string | Uint8Array, salt: Buffer): Promise<Buffer> {
  const { scrypt } = await import("node:crypto");
  return await new Promise((resolve, reject) =>
    scrypt(secret, salt, 32, (error, key) => (error === null ? resolve(key) : reject(error))),
  );
}

/** Runs `work` while no other process, and no other caller in this one, holds the lock file. */
export async function withFileLock<T>(path: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const owner = await acquire(path, signal);
  // The heartbeat distinguishes a slow holder from a dead one.
  const beat = setInterval(() => void touch(path), BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    await release(path, owner);
  }
}

/** Acquires the lock. Resolves with the text that identifies this holder in the lock file. */
async function acquire(path: string, signal: AbortSignal | undefined): Promise<string> {
  const owner = crypto.randomUUID();
  for (;;) {
    signal?.throwIfAborted();
    if (await create(path, owner)) return owner;
    if (await isStale(path)) await reap(path);
    await pause(systemClock, RETRY_MS, signal);
  }
}

/**
 * Releases the lock. A holder that was suspended so long that it counted as dead does not remove its successor's lock.
 */
async function release(path: string, owner: string): Promise<void> {
  const held = await readFile(path, "utf8").catch(() => "");
  if (held === owner) await unlink(path).catch(() => {});
}

async function create(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

async function isStale(path: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > STALE_MS;
  } catch {
    return false;
  }
}

/**
 * Removes the lock of a dead holder. Of several processes that find it, only one at a time checks it again and removes
 * it, so that no successor's lock is removed.
 */
async function reap(path: string): Promise<void> {
  const reaper = `${path}.reap`;
  if (!(await create(reaper, ""))) {
    if (await isStale(reaper)) await unlink(reaper).catch(() => {});
    return;
  }
  if (await isStale(path)) await unlink(path).catch(() => {});
  await unlink(reaper).catch(() => {});
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now).catch(() => {});
}
