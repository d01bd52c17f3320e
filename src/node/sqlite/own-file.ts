import { chmodSync, closeSync, linkSync, openSync, realpathSync, statSync, unlinkSync } from "node:fs";

/** Endings of the files beside a database. SQLite creates them with the rights of the database. */
const BESIDE = ["-journal", "-wal", "-shm"];
/** Rights of the group and of all others. */
const OTHERS = 0o077;
/** Codes of a file system, or a sandbox, without hard links. */
const NO_LINKS: readonly unknown[] = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"];
/** Result code of SQLite for a file that cannot be opened. */
const CANNOT_OPEN = 14;

/** Calls of the file system that not every one supports. */
interface FileCalls {
  readonly chmod?: typeof chmodSync;
  readonly link?: typeof linkSync;
}

/**
 * Creates a database that only its owner can read, unless it exists. Takes the rights of others from one that exists and
 * from the files beside it. Throws if that is not possible. Leaves a directory as it is, which SQLite refuses. File rights do
 * not apply on Windows.
 */
export function ownFile(path: string, { chmod = chmodSync, link = linkSync }: FileCalls = {}): void {
  if (process.platform === "win32") return;
  const present = statSync(path, { throwIfNoEntry: false });
  if (present?.isDirectory()) return;
  if (present === undefined) create(path, link);
  const real = realpathSync(path);
  for (const file of [real, ...BESIDE.map((end) => real + end)]) {
    const mode = modeOf(file);
    if (mode !== undefined && (mode & OTHERS) !== 0) takeRights(file, mode, chmod);
  }
}

/**
 * Creates an empty file by a link, so that no descriptor of the database is closed: that would release the locks that
 * other threads of the process hold on it. Without hard links, its descriptor stays open.
 */
function create(path: string, link: typeof linkSync): void {
  const aside = `${path}.${crypto.randomUUID()}`;
  try {
    closeSync(openSync(aside, "wx", 0o600));
    try {
      link(aside, path);
    } catch (error) {
      if (!NO_LINKS.includes(codeOf(error))) throw error;
      openSync(path, "wx", 0o600);
    } finally {
      unlinkSync(aside);
    }
  } catch (error) {
    // Another process was faster.
    if (codeOf(error) === "EEXIST" && modeOf(path) !== undefined) return;
    const problem = codeOf(error) === "EEXIST" ? "it is a link to a file that does not exist" : String(error);
    throw Object.assign(new Error(`unable to open database file (${problem})`), { errcode: CANNOT_OPEN });
  }
}

function takeRights(file: string, mode: number, chmod: typeof chmodSync): void {
  let cause: unknown;
  try {
    chmod(file, mode & 0o700);
    const now = modeOf(file);
    if (now === undefined || (now & OTHERS) === 0) return;
  } catch (error) {
    // Another process has removed it.
    if (codeOf(error) === "ENOENT") return;
    cause = error;
  }
  const rights = (mode & 0o777).toString(8);
  throw new Error(
    `${file} is open to other users (mode ${rights}), and its rights cannot be changed; let the user of this process own it, on a file system with rights, and run chmod 600`,
    { cause },
  );
}

function modeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mode;
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
