import { constants, realpathSync } from "node:fs";
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import nodePath from "node:path";
import { atCaller } from "../../protocol/at-caller.js";
import { sha256, toHex } from "../../protocol/bytes.js";
import { DefinitionError } from "../../protocol/errors.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../../protocol/known-options.js";
import type { SkillCache, SkillCacheKey } from "../../skills/client/cache.js";
import { replaceFile } from "./replace-file.js";

/** Options of {@link skillCache}. */
export interface SkillCacheOptions {
  /** All folders in which the host looks for its own skills. Nothing in the cache may be taken for one of them. */
  readonly localSkills: readonly string[];
  readonly limits?: Optional<SkillCacheLimits> | undefined;
}

/** Limits of a cache of skills on disk. */
export interface SkillCacheLimits {
  /**
   * Maximum number of bytes of all files. The oldest are removed first.
   * @default 268_435_456
   */
  readonly maxCacheBytes: number;
}

export const SKILL_CACHE_LIMITS: SkillCacheLimits = { maxCacheBytes: 268_435_456 };

const OPTIONS: Known<SkillCacheOptions> = {
  localSkills: [{ array: "string" }, "required"],
  limits: SKILL_CACHE_LIMITS,
};

/** Cache of skills on disk. */
export interface SkillDiskCache extends SkillCache {
  /** Removes all files of a server. Call it when the user removes the server. */
  deleteServer(server: string): Promise<void>;
}

/** Name of a file: digest of its URI and digest of its content. A file that is being written has an ending. */
const FILE = /^[0-9a-f]{64}-[0-9a-f]{64}(?:\.[\w-]+)?$/;
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Returns a cache of skills in a folder, for `SkillCatalogue` of `bowline/skills/client`. It keeps the files of each
 * server apart. Only the owner can read them.
 * @throws if the folder is in a folder of local skills, or contains one.
 */
export function skillCache(folder: string, options: SkillCacheOptions): SkillDiskCache {
  return atCaller(skillCache, () => createDiskCache(folder, options));
}

function createDiskCache(folder: string, options: SkillCacheOptions): SkillDiskCache {
  assertOptions("skillCache", options, OPTIONS);
  const { maxCacheBytes } = withDefaults(options.limits, SKILL_CACHE_LIMITS);
  const root = realPath(folder);
  for (const local of options.localSkills) {
    const other = realPath(local);
    if (!isWithin(root, other) && !isWithin(other, root)) continue;
    const reason = "the host would take files of servers for its own skills";
    throw new DefinitionError(
      `skillCache: ${folder} must be outside of the folder of local skills ${local}: ${reason}`,
    );
  }
  return new DiskCache(root, maxCacheBytes);
}

class DiskCache implements SkillDiskCache {
  readonly #root: string;
  readonly #maxBytes: number;
  /** Bytes of all files. Undefined before they are counted. */
  #bytes: number | undefined;
  /** Resolves when all writes have ended. They run one after another. */
  #writes: Promise<void> = Promise.resolve();

  constructor(root: string, maxBytes: number) {
    this.#root = root;
    this.#maxBytes = maxBytes;
  }

  async get(key: SkillCacheKey): Promise<Uint8Array | undefined> {
    const file = await open(await this.#pathOf(key), READ).catch(() => undefined);
    if (file === undefined) return undefined;
    try {
      const stats = await file.stat();
      return stats.isFile() && stats.size <= this.#maxBytes ? new Uint8Array(await file.readFile()) : undefined;
    } finally {
      await file.close();
    }
  }

  set(key: SkillCacheKey, bytes: Uint8Array): Promise<void> {
    return this.#inTurn(async () => {
      if (bytes.byteLength > this.#maxBytes) return;
      await this.#write(await this.#pathOf(key), bytes);
      this.#bytes = (this.#bytes ?? Number.POSITIVE_INFINITY) + bytes.byteLength;
      if (this.#bytes > this.#maxBytes) await this.#evict();
    });
  }

  delete(key: SkillCacheKey): Promise<void> {
    return this.#inTurn(async () => rm(await this.#pathOf(key), { force: true }));
  }

  deleteServer(server: string): Promise<void> {
    return this.#inTurn(async () => {
      await rm(await this.#folderOf(server), { force: true, recursive: true });
      this.#bytes = undefined;
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#writes.then(work);
    this.#writes = done.catch(() => {});
    return done;
  }

  async #write(path: string, bytes: Uint8Array): Promise<void> {
    await mkdir(nodePath.dirname(path), { recursive: true, mode: 0o700 });
    await replaceFile(path, bytes);
  }

  /** Counts all files. Removes the oldest while there are too many bytes. */
  async #evict(): Promise<void> {
    const files = (await this.#files()).sort((one, other) => one.at - other.at);
    let bytes = files.reduce((sum, { size }) => sum + size, 0);
    for (const { path, size } of files) {
      if (bytes <= this.#maxBytes) break;
      await rm(path, { force: true });
      bytes -= size;
    }
    this.#bytes = bytes;
  }

  async #files(): Promise<{ readonly path: string; readonly size: number; readonly at: number }[]> {
    const files = [];
    for (const folder of await readdir(this.#root, { withFileTypes: true })) {
      if (!folder.isDirectory()) continue;
      for (const name of await readdir(nodePath.join(this.#root, folder.name))) {
        const path = nodePath.join(this.#root, folder.name, name);
        const stats = FILE.test(name) ? await stat(path).catch(() => undefined) : undefined;
        if (stats !== undefined) files.push({ path, size: stats.size, at: stats.mtimeMs });
      }
    }
    return files;
  }

  async #pathOf({ server, uri, digest }: SkillCacheKey): Promise<string> {
    // A digest is checked before it becomes part of a path.
    const content = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1] ?? (await hash(digest));
    return nodePath.join(await this.#folderOf(server), `${await hash(uri)}-${content}`);
  }

  /** Returns the folder of a server. The hash tells names apart that a file system would not. */
  async #folderOf(server: string): Promise<string> {
    const readable = server.replace(/[^A-Za-z0-9]+/g, "-").slice(0, 40);
    return nodePath.join(this.#root, `server-${readable}-${await hash(server)}`);
  }
}

async function hash(text: string): Promise<string> {
  return toHex(await sha256(text));
}

/** Resolves the links in a path, as far as the path exists. */
function realPath(path: string): string {
  const full = nodePath.resolve(path);
  try {
    return realpathSync.native(full);
  } catch {
    const parent = nodePath.dirname(full);
    return parent === full ? full : nodePath.join(realPath(parent), nodePath.basename(full));
  }
}

/** True if the path is the folder, or in it. */
function isWithin(path: string, folder: string): boolean {
  const relative = nodePath.relative(folder, path);
  return relative !== ".." && !relative.startsWith(`..${nodePath.sep}`) && !nodePath.isAbsolute(relative);
}
