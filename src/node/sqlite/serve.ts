import { type BigIntStats, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import { ownFile } from "./own-file.js";

/** Members of a connection that the code of the thread uses. */
interface Connection {
  exec(text: string): void;
  prepare(text: string): never;
  close(): void;
}

/** Module of Node from version 22.13 on, of which the types of this project know nothing. */
interface SqliteModule {
  readonly DatabaseSync: new (path: string) => Connection;
}

/** Facilities of a thread that works on a file. */
export interface FileThread<Options, Reply> {
  readonly options: Options;
  /** Opens the file at a path. */
  open(): Connection;
  isSame(): boolean;
  /** Returns the size of the journal in bytes. */
  journalBytes(): number;
  post(reply: Reply): void;
  end(): void;
}

/** Connects the code of a thread with its parent and with SQLite. `serve` returns the function that handles requests. */
export function serveFile<Options extends { readonly path: string }, Request, Reply>(
  serve: (thread: FileThread<Options, Reply>) => (request: Request) => void,
): void {
  const port = parentPort;
  if (port === null) return;
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite") as unknown as SqliteModule;
  const options = workerData as Options;
  let opened: BigIntStats | undefined;
  const handle = serve({
    options,
    open() {
      ownFile(options.path);
      const connection = new DatabaseSync(options.path);
      try {
        assertLocal(options.path, statfsSync(dirname(options.path), { bigint: true }).type);
      } catch (error) {
        connection.close();
        throw error;
      }
      opened = statOf(options.path);
      return connection;
    },
    isSame() {
      const found = statOf(options.path);
      return found !== undefined && found.ino === opened?.ino && found.dev === opened.dev;
    },
    journalBytes: () => Number(statOf(`${options.path}-wal`)?.size ?? 0),
    post: (reply) => port.postMessage(reply),
    end: () => port.close(),
  });
  port.on("message", handle);
}

function statOf(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

/** Types of network file systems on Linux: NFS and versions of SMB. */
const NETWORK = new Set([0x6969n, 0x517bn, 0xff534d42n, 0xfe534d42n]);

/** Throws if a file system is one of a network, on which processes do not share memory. */
export function assertLocal(path: string, type: bigint): void {
  if (!NETWORK.has(BigInt.asUintN(32, type))) return;
  throw new Error(`${path} is on a network file system; use a path on a disk of this machine`);
}
