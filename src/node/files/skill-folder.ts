import { type FSWatcher, watch as watchPath } from "node:fs";
import { type FileHandle, open, readdir, realpath } from "node:fs/promises";
import { createRequire } from "node:module";
import nodePath from "node:path";
import { fileURLToPath } from "node:url";
import { atCaller } from "../../protocol/at-caller.js";
import { DefinitionError, McpError, toError } from "../../protocol/errors.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../../protocol/known-options.js";
import type { SkillFiles, SkillProblem, SkillTree } from "../../skills/server/source.js";
import { isAt, READ_FLAGS, TRIES } from "./real-file.js";

/** Options of {@link skillFolder}. */
export interface SkillFolderOptions {
  /**
   * Loads the skills again when a file changes.
   * @default true
   */
  readonly watch?: boolean | undefined;
  /**
   * Returns true for a file or directory that is not part of a skill. The path is relative to the folder.
   * @default names that begin with a dot, and node_modules
   */
  readonly ignore?: ((path: string) => boolean) | undefined;
  readonly limits?: Optional<SkillFolderLimits> | undefined;
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

const OPTIONS: Known<SkillFolderOptions> = { watch: "boolean", ignore: "function", limits: SKILL_FOLDER_LIMITS };

/** Number of files that are read at a time. */
const AT_ONCE = 16;

/** Throws if the optional peer dependency `yaml` is missing, without which no SKILL.md can be read. */
function assertYaml(): void {
  const isThere = (name: string) => {
    try {
      return createRequire(import.meta.url).resolve(name) !== "";
    } catch {
      return false;
    }
  };
  // A program in a single file contains its packages.
  if (isThere("bowline/skills/server") && !isThere("yaml"))
    throw new DefinitionError("skillFolder: reading SKILL.md needs the package yaml: npm install yaml");
}

/**
 * Returns a folder as a source of skills, for `skills()` of `bowline/skills/server`. Each folder in it with a SKILL.md is
 * a skill. Symbolic links are not followed.
 */
export function skillFolder(folder: string | URL, options: SkillFolderOptions = {}): SkillFiles {
  const root = typeof folder === "string" ? folder : fileURLToPath(folder);
  atCaller(skillFolder, () => {
    assertOptions("skillFolder", options, OPTIONS);
    assertYaml();
  });
  const limits = withDefaults(options.limits, SKILL_FOLDER_LIMITS);
  const { ignore = isIgnored, watch = true } = options;
  let known: ReadonlyMap<string, KnownFile> = new Map();
  const watches = new Set<FolderWatch>();
  const read = async (): Promise<SkillTree> => {
    for (const watched of watches) watched.renew();
    // A folder that is a link itself may be switched to another one while it is read.
    const real = await realpath(root).catch((cause: unknown) => {
      throw failure(root, toError(cause).message, cause);
    });
    const walk = new FolderWalk(real, ignore, limits, known);
    await walk.enter("");
    known = walk.known;
    const files = new Map([...walk.known].map(([path, { bytes }]) => [path, bytes]));
    return { files, emptyDirectories: walk.emptyDirectories, refused: walk.refused };
  };
  if (!watch) return { read };
  return {
    read,
    watch(onChange) {
      const started = new FolderWatch(root, onChange);
      watches.add(started);
      return () => {
        watches.delete(started);
        started.close();
      };
    },
  };
}

/** File that was read, with the properties that change when the file does. */
interface KnownFile {
  readonly stamp: string;
  readonly bytes: Uint8Array;
}

class FolderWalk {
  readonly known = new Map<string, KnownFile>();
  readonly emptyDirectories: string[] = [];
  refused: SkillProblem[] = [];
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
    const files = entries.filter((entry) => entry.isFile()).map(({ path }) => path);
    for (let at = 0; at < files.length; at += AT_ONCE) {
      await Promise.all(files.slice(at, at + AT_ONCE).map((path) => this.#read(path)));
    }
    // A directory may become a link after the one that contains it was read.
    if (!(await this.#isReal(directory))) {
      for (const path of files) this.known.delete(path);
      this.refused = this.refused.filter(({ path }) => !files.includes(path));
      return this.#refuse(directory, IS_LINK);
    }
    if (entries.length === 0 && directory !== "") this.emptyDirectories.push(directory);
    for (const entry of entries) {
      if (entry.isDirectory()) await this.enter(entry.path);
      else if (entry.isSymbolicLink()) this.#refuse(entry.path, IS_LINK);
      else if (!entry.isFile()) this.#refuse(entry.path, "is not a regular file");
    }
  }

  async #entries(directory: string) {
    const entries = await readdir(this.#absolute(directory), { withFileTypes: true }).catch((cause: unknown) => {
      if (directory === "") throw failure(this.#root, toError(cause).message, cause);
      this.#refuseUnread(directory, cause);
      return [];
    });
    return entries
      .map((entry) => Object.assign(entry, { path: directory === "" ? entry.name : `${directory}/${entry.name}` }))
      .filter(({ path, name }) => {
        if (this.#ignore(path)) return false;
        // Such a name cannot be opened, since its bytes are lost.
        if (name.includes("\uFFFD")) this.#refuse(path, "has a name that is not UTF-8");
        return !name.includes("\uFFFD");
      });
  }

  async #isReal(directory: string): Promise<boolean> {
    const path = this.#absolute(directory);
    return (await realpath(path).catch(() => path)) === path;
  }

  /** Reads a file. Opens it again if it is replaced meanwhile, as programs do when they save. */
  async #read(path: string): Promise<void> {
    for (let tries = 1; tries <= TRIES; tries++) {
      const file = await open(this.#absolute(path), READ_FLAGS).catch((cause: unknown) =>
        this.#refuseUnread(path, cause),
      );
      if (file === undefined) return;
      try {
        if (await this.#readOpen(path, file)) return;
      } finally {
        await file.close();
      }
    }
    this.#refuse(path, "is replaced while it is read, or is behind a symbolic link");
  }

  /** Reads an open file, or refuses it. Returns false if it is not the file at this path. */
  async #readOpen(path: string, file: FileHandle): Promise<boolean> {
    const stats = await file.stat({ bigint: true });
    if (!(await isAt(this.#absolute(path), stats))) return false;
    if (!stats.isFile()) {
      this.#refuse(path, "is not a regular file");
      return true;
    }
    this.#count(Number(stats.size));
    const stamp = [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(" ");
    const before = this.#before.get(path);
    const bytes = before?.stamp === stamp ? before.bytes : new Uint8Array(await file.readFile());
    this.known.set(path, { stamp, bytes });
    return true;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#files++;
    const { maxFolderFiles, maxFolderBytes } = this.#limits;
    const beyond = (what: string, limit: string) =>
      failure(this.#root, `has ${what}; raise limits.${limit} or ignore some`);
    if (this.#files > maxFolderFiles) throw beyond(`more than ${maxFolderFiles} files`, "maxFolderFiles");
    if (this.#bytes > maxFolderBytes) throw beyond(`more than ${maxFolderBytes} bytes`, "maxFolderBytes");
  }

  #refuse(path: string, message: string): void {
    this.refused.push({ path, message });
  }

  /** Refuses a file or directory that cannot be opened, unless it has disappeared. */
  #refuseUnread(path: string, cause: unknown): undefined {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== "ENOENT") this.#refuse(path, `cannot be read: ${code ?? toError(cause).message}`);
  }

  #absolute(path: string): string {
    return nodePath.join(this.#root, ...path.split("/"));
  }
}

const IS_LINK = "is a symbolic link, and links are not followed";

function failure(root: string, problem: string, cause?: unknown): McpError {
  return new McpError("skill_folder", `skillFolder: ${root}: ${problem}`, { cause });
}

function isIgnored(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.startsWith(".") || name === "node_modules";
}

/** Watch of a folder and of all directories in it. */
class FolderWatch {
  readonly #root: string;
  readonly #onChange: () => void;
  #watcher: FSWatcher;
  /** True after a change. On Linux, Node.js does not watch a directory that replaces another one. */
  #isStale = false;

  constructor(root: string, onChange: () => void) {
    this.#root = root;
    this.#onChange = onChange;
    this.#watcher = this.#start();
  }

  /** Watches the present directories. Called before they are read, so that no change is missed. */
  renew(): void {
    if (!this.#isStale) return;
    const before = this.#watcher;
    this.#watcher = this.#start();
    this.#isStale = false;
    before.close();
  }

  close(): void {
    this.#watcher.close();
  }

  #start(): FSWatcher {
    try {
      const changed = () => {
        this.#isStale = true;
        this.#onChange();
      };
      const watcher = watchPath(this.#root, { recursive: true, persistent: false }, changed);
      // The next load reports a folder that has disappeared.
      return watcher.on("error", changed);
    } catch (cause) {
      throw failure(this.#root, `cannot be watched: ${toError(cause).message}`, cause);
    }
  }
}
