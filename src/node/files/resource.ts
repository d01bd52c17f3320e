import { realpath } from "node:fs/promises";
import nodePath from "node:path";
import { resourceNotFound } from "../../era/missing-resource.js";
import { assertOptions, type Known } from "../../protocol/known-options.js";
import { readRealFile } from "./real-file.js";

/** Options of {@link fileResource}. */
export interface FileResourceOptions {
  /**
   * Template variable that contains the path of the file.
   * @default "path"
   */
  readonly variable?: string | undefined;
  /**
   * Extensions of files that are sent as text. Other files are sent as bytes.
   * @default [".txt", ".md", ".json", ".yaml", ".yml", ".csv", ".html", ".css", ".js", ".ts", ".xml"]
   */
  readonly text?: readonly string[] | undefined;
}

const OPTIONS: Known<FileResourceOptions> = { variable: "string", text: [{ array: "string" }] };

const TEXT = [".txt", ".md", ".json", ".yaml", ".yml", ".csv", ".html", ".css", ".js", ".ts", ".xml"];

/**
 * Creates a resource handler for the files of a folder, for `server.resource("x:///{+path}", ...)`. A file
 * outside the folder counts as not found.
 */
export function fileResource(root: string, options: FileResourceOptions = {}) {
  assertOptions({ fileResource }, options, OPTIONS);
  const { variable = "path", text = TEXT } = options;
  return async (variables: object, _ctx: unknown, uri: string): Promise<string | Uint8Array> => {
    const value = (variables as Record<string, string | string[] | undefined>)[variable];
    const path = Array.isArray(value) ? value.join("/") : value;
    const file = path === undefined ? undefined : await resolveInside(root, path);
    const bytes = file === undefined ? undefined : await readRealFile(file);
    if (file === undefined || bytes === undefined) throw resourceNotFound(uri);
    return text.some((ending) => file.endsWith(ending)) ? bytes.toString("utf8") : new Uint8Array(bytes);
  };
}

/**
 * Returns the real path of a file in a folder. Returns undefined if the file does not exist, if the path leaves the
 * folder by `..` or through a symbolic link, or if it is absolute, contains a NUL, or names a Windows device.
 */
export function resolveInside(root: string, path: string): Promise<string | undefined> {
  return resolveOn(DISK, root, path);
}

/** Resolves a path like {@link resolveInside} on a given file system. */
export async function resolveOn(disk: Disk, root: string, path: string): Promise<string | undefined> {
  const { isAbsolute, resolve } = disk.paths;
  if (path.includes("\0") || isAbsolute(path) || /^[A-Za-z]:|^[\\/]/.test(path)) return undefined;
  if (disk.paths.sep === "\\" && WINDOWS_DEVICE.test(path)) return undefined;
  if (!isInside(resolve(root), resolve(root, path), disk)) return undefined;
  try {
    const [base, real] = await Promise.all([disk.realpath(root), disk.realpath(resolve(root, path))]);
    return isInside(base, real, disk) ? real : undefined;
  } catch {
    return undefined;
  }
}

/** Path rules and symbolic links of a file system. */
export interface Disk {
  readonly paths: Pick<typeof nodePath, "isAbsolute" | "relative" | "resolve" | "sep">;
  realpath(path: string): Promise<string>;
}

const DISK: Disk = { paths: nodePath, realpath };

/** Windows paths that are devices instead of files, in any folder. A colon names a stream of a file. */
const WINDOWS_DEVICE = /:|(^|[\\/])(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])[ .]*([.\\/]|$)/i;

function isInside(base: string, path: string, { paths }: Disk): boolean {
  const way = paths.relative(base, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${paths.sep}`) && !paths.isAbsolute(way));
}
