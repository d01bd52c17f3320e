import { constants, watch as watchPath } from "node:fs";
import { open, readdir } from "node:fs/promises";
import nodePath from "node:path";
import { fileURLToPath } from "node:url";
import { McpError, toError } from "../../protocol/errors.js";
import { resolveLimits } from "../../protocol/known-options.js";
import type { SkillFiles, SkillProblem, SkillTree } from "../../skills/server/source.js";

/** Options of {@link skillFolder}. */
export interface SkillFolderOptions {
  /**
   * Loads the skills again when a file changes.
   * @default true
   */
  readonly watch?: boolean;
  /**
   * Returns true for a file or directory that is not part of a skill. The path is relative to the folder.
   * @default names that begin with a dot, and node_modules
   */
  readonly ignore?: (path: string) => boolean;
  readonly limits?: Partial<SkillFolderLimits>;
}

/** Limits of a folder of skills. */
export interface SkillFolderLimits {
  /**
   * Maximum number of files in the folder.
   * @default 50_000
   */
  readonly maxFolderFiles: number;
  /**
   * Maximum number of bytes in the folder. The files are kept in memory.
   * @default 268_435_456
   */
  readonly maxFolderBytes: number;
}

export const SKILL_FOLDER_LIMITS: SkillFolderLimits = { maxFolderFiles: 50_000, maxFolderBytes: 268_435_456 };

/** Number of files that are read at a time. */
const AT_ONCE = 16;

/**
 * Returns a folder as a source of skills, for `skills()` of `bowline/skills/server`. Each folder in it with a SKILL.md is
 * a skill. Symbolic links are not followed.
 */
export function skillFolder(folder: string | URL, options: SkillFolderOptions = {}): SkillFiles {
  const root = typeof folder === "string" ? folder : fileURLToPath(folder);
  const limits = resolveLimits("skillFolder", options.limits, SKILL_FOLDER_LIMITS);
  const { ignore = isIgnored, watch = true } = options;
  let known: ReadonlyMap<string, KnownFile> = new Map();
  const read = async (): Promise<SkillTree> => {
    const walk = new FolderWalk(root, ignore, limits, known);
    await walk.enter("");
    known = walk.known;
    const files = new Map([...walk.known].map(([path, { bytes }]) => [path, bytes]));
    return { files, emptyDirectories: walk.emptyDirectories, refused: walk.refused };
  };
  return watch ? { read, watch: (onChange) => watchFolder(root, onChange) } : { read };
}

/** File that was read, with the properties that change when the file does. */
interface KnownFile {
  readonly stamp: string;
  readonly bytes: Uint8Array;
}

class FolderWalk {
  readonly known = new Map<string, KnownFile>();
  readonly emptyDirectories: string[] = [];
  readonly refused: SkillProblem[] = [];
  readonly #root: string;
  readonly #ignore: (path: string) => boolean;
  readonly #limits: SkillFolderLimits;
  readonly #before: ReadonlyMap<string, KnownFile>;
  #bytes = 0;
  #files = 0;

  constructor(
    root: string,
    ignore: (path: string) => boolean,
    limits: SkillFolderLimits,
    before: ReadonlyMap<string, KnownFile>,
  ) {
    this.#root = root;
    this.#ignore = ignore;
    this.#limits = limits;
    this.#before = before;
  }

  /** Reads a directory and all directories in it. */
  async enter(directory: string): Promise<void> {
    const entries = await this.#entries(directory);
    if (entries.length === 0 && directory !== "") this.emptyDirectories.push(directory);
    const files = entries.filter((entry) => entry.isFile()).map(({ path }) => path);
    for (let at = 0; at < files.length; at += AT_ONCE) {
      await Promise.all(files.slice(at, at + AT_ONCE).map((path) => this.#read(path)));
    }
    for (const entry of entries) {
      if (entry.isDirectory()) await this.enter(entry.path);
      else if (entry.isSymbolicLink()) this.#refuse(entry.path, "is a symbolic link, and links are not followed");
      else if (!entry.isFile()) this.#refuse(entry.path, "is not a regular file");
    }
  }

  async #entries(directory: string) {
    const entries = await readdir(this.#absolute(directory), { withFileTypes: true }).catch((cause: unknown) => {
      // A directory may disappear while its parent is read.
      if (directory !== "" && isGone(cause)) return [];
      throw new McpError("skill_folder", `skillFolder: ${this.#absolute(directory)}: ${toError(cause).message}`, {
        cause,
      });
    });
    return entries
      .map((entry) => Object.assign(entry, { path: directory === "" ? entry.name : `${directory}/${entry.name}` }))
      .filter(({ path }) => !this.#ignore(path));
  }

  async #read(path: string): Promise<void> {
    const file = await open(this.#absolute(path), FLAGS).catch((cause: NodeJS.ErrnoException) => {
      if (isGone(cause)) return undefined;
      this.#refuse(path, `cannot be read: ${cause.code ?? cause.message}`);
      return undefined;
    });
    if (file === undefined) return;
    try {
      const stats = await file.stat({ bigint: true });
      if (!stats.isFile()) return this.#refuse(path, "is not a regular file");
      this.#count(Number(stats.size));
      const stamp = [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(" ");
      const before = this.#before.get(path);
      const bytes = before?.stamp === stamp ? before.bytes : new Uint8Array(await file.readFile());
      this.known.set(path, { stamp, bytes });
    } finally {
      await file.close();
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#files++;
    const { maxFolderFiles, maxFolderBytes } = this.#limits;
    const beyond = (what: string, limit: string) =>
      new McpError("skill_folder", `skillFolder: ${this.#root} has ${what}; raise limits.${limit} or ignore some`);
    if (this.#files > maxFolderFiles) throw beyond(`more than ${maxFolderFiles} files`, "maxFolderFiles");
    if (this.#bytes > maxFolderBytes) throw beyond(`more than ${maxFolderBytes} bytes`, "maxFolderBytes");
  }

  #refuse(path: string, message: string): void {
    this.refused.push({ path, message });
  }

  #absolute(path: string): string {
    return nodePath.join(this.#root, ...path.split("/"));
  }
}

/** Does not follow a link, and does not wait for the writer of a pipe. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

function isGone(cause: unknown): boolean {
  return (cause as NodeJS.ErrnoException).code === "ENOENT";
}

function isIgnored(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.startsWith(".") || name === "node_modules";
}

function watchFolder(root: string, onChange: () => void): () => void {
  const watcher = watchPath(root, { recursive: true, persistent: false }, onChange);
  // A folder that disappears ends the watch. The skills stay as they are.
  watcher.on("error", () => watcher.close());
  return () => watcher.close();
}
