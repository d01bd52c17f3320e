import { isObject } from "../../protocol/json.js";
import type { Resource } from "../../protocol/types/index.js";
import { DIRECTORY_TYPE, READ_DIRECTORY } from "../types.js";
import { pathBelow } from "../uri.js";
import type { EntryFiles, SkillReadOptions } from "./files.js";
import { readAll } from "./listing.js";

/** Contents of a directory of a skill. */
export interface SkillDirectory {
  /** Files of the entry, and directories that contain some. For a dynamic skill, everything in the directory. */
  readonly children: readonly SkillChild[];
  /**
   * URIs of files that only one of the directory and the entry has. If there are any, the skill has changed on its
   * server: load it again.
   */
  readonly changed: readonly string[];
}

/** File or directory in a directory of a skill. */
export interface SkillChild {
  readonly uri: string;
  /** Path in the skill. */
  readonly path: string;
  readonly isDirectory: boolean;
  readonly mimeType: string | undefined;
  readonly size: number | undefined;
}

/** Lists a directory on the server. Leaves out the files that the entry does not list. */
export async function readDirectory(
  files: EntryFiles,
  { uri, path }: { readonly uri: string; readonly path: string },
  options: SkillReadOptions,
): Promise<SkillDirectory> {
  const { client, limits } = files.origin;
  const listedBy = { method: READ_DIRECTORY, params: { uri }, member: "resources" };
  const { items } = await readAll(client, listedBy, limits, options);
  const prefix = path === "" ? "" : `${path}/`;
  const children = items.flatMap((item) => toChild(item, files.root)).filter((child) => isIn(prefix, child.path));
  return files.listed === undefined ? { children, changed: [] } : compare(children, prefix, files.listed);
}

function compare(
  children: readonly SkillChild[],
  prefix: string,
  listed: NonNullable<EntryFiles["listed"]>,
): SkillDirectory {
  const paths = [...listed.keys()];
  const isKnown = ({ path, isDirectory }: SkillChild) =>
    isDirectory ? paths.some((file) => file.startsWith(`${path}/`)) : listed.has(path);
  const present = new Set(children.map(({ path }) => path));
  const added = children.filter((child) => !(child.isDirectory || isKnown(child)));
  const missing = paths.filter((path) => isIn(prefix, path) && !present.has(path));
  return {
    children: children.filter(isKnown),
    changed: [...added.map(({ uri }) => uri), ...missing.map((path) => listed.get(path)?.uri as string)],
  };
}

/** True for a path directly in the directory. */
function isIn(prefix: string, path: string): boolean {
  return path.startsWith(prefix) && !path.slice(prefix.length).includes("/");
}

function toChild(item: unknown, root: string): readonly SkillChild[] {
  const { uri, mimeType, size } = (isObject(item) ? item : {}) as Partial<Resource>;
  const path = typeof uri === "string" ? pathBelow(root, uri) : undefined;
  if (uri === undefined || path === undefined) return [];
  return [{ uri, path, isDirectory: mimeType === DIRECTORY_TYPE, mimeType, size }];
}
