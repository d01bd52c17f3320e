import { readFile } from "node:fs/promises";

const TYPES: { readonly [extension: string]: string } = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

/** File of a page, with its media type. */
interface PageFile {
  readonly type: string;
  readonly text: string;
}

/** Reads a file of a page by its name. One that is missing is undefined. */
export type PageFolder = (name: string) => Promise<PageFile | undefined>;

/** Returns the reader of the files of a folder that a page consists of. */
export function pageFolder(folder: URL): PageFolder {
  return async (name) => {
    const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
    if (type === undefined) return undefined;
    try {
      return { type, text: await readFile(new URL(name, folder), "utf8") };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  };
}
