import { mkdir, writeFile } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import type { ContentBlock, ResourceContents } from "../protocol/types/index.js";
import { UsageError } from "./failures.js";
import { toJson, visible, visibleLine } from "./text.js";

/** Bytes of a content block, with the name of the file that they are saved to. */
interface Saved {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Returns what a content block shows as text. Bytes are named by type and size. */
export function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return visible(block.text);
    case "resource_link":
      return `${visibleLine(block.uri)}${block.description === undefined ? "" : `  ${visibleLine(block.description)}`}`;
    case "resource":
      return contentsText(block.resource);
    case "image":
    case "audio":
      return `[${block.type} ${visibleLine(block.mimeType)}, ${sizeOf(block.data)}; --out <folder> saves it]`;
    default:
      // A later version of the protocol may have other types.
      return toJson(block);
  }
}

/** Returns the text of a resource, or the type and size of its bytes. */
export function contentsText(contents: ResourceContents): string {
  const part = contents as { readonly text?: string; readonly blob?: string; readonly mimeType?: string };
  if (part.text !== undefined) return visible(part.text);
  return `[${visibleLine(part.mimeType ?? "bytes")}, ${sizeOf(part.blob ?? "")}; --out saves it]`;
}

function sizeOf(base64: string): string {
  return `${Buffer.from(base64, "base64").length.toLocaleString("en")} bytes`;
}

/** Returns the bytes of a resource. */
export function bytesOf(contents: ResourceContents): Uint8Array {
  const part = contents as { readonly text?: string; readonly blob?: string };
  return part.text === undefined ? Buffer.from(part.blob ?? "", "base64") : Buffer.from(part.text, "utf8");
}

const ENDINGS: Readonly<Record<string, string>> = {
  "image/png": ".png",
  "image/jpeg": ".jpg",
  "image/gif": ".gif",
  "image/webp": ".webp",
  "image/svg+xml": ".svg",
  "audio/wav": ".wav",
  "audio/mpeg": ".mp3",
  "audio/ogg": ".ogg",
  "text/plain": ".txt",
  "text/markdown": ".md",
  "text/html": ".html",
  "application/json": ".json",
  "application/pdf": ".pdf",
};

/** Saves images, audio and resources of a result below a folder. Returns their paths. Replaces no file. */
export async function saveBlocks(blocks: readonly ContentBlock[], folder: string, cwd: string): Promise<string[]> {
  const saved = blocks.flatMap((block, index) => savedOf(block, index));
  const paths: string[] = [];
  for (const { name, bytes } of saved) paths.push(await saveNew(join(resolve(cwd, folder), name), bytes));
  return paths;
}

function savedOf(block: ContentBlock, index: number): Saved[] {
  const number = index + 1;
  if (block.type === "image" || block.type === "audio") {
    const ending = ENDINGS[block.mimeType] ?? "";
    return [{ name: `${number}-${block.type}${ending}`, bytes: Buffer.from(block.data, "base64") }];
  }
  if (block.type !== "resource") return [];
  const { uri, mimeType = "" } = block.resource;
  return [{ name: `${number}-${fileNameOf(uri, mimeType)}`, bytes: bytesOf(block.resource) }];
}

/** Returns a name for a file that no server can use to leave the folder, or to hide the file. */
export function fileNameOf(uri: string, mimeType: string): string {
  const last = uri.split(/[?#]/, 1)[0]!.split("/").at(-1) ?? "";
  const name =
    last
      .replace(/[^\w.-]/g, "_")
      .replace(/^\.+/, "")
      .slice(-80) || "resource";
  return extname(name) === "" ? `${name}${ENDINGS[mimeType] ?? ""}` : name;
}

/** Writes a new file, with its folders. Throws a `UsageError` if it exists. */
export async function saveNew(path: string, bytes: Uint8Array): Promise<string> {
  try {
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, bytes, { flag: "wx" });
    return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === "EEXIST" ? "exists already" : `cannot be written (${code ?? "unknown error"})`;
    throw new UsageError(`${path} ${reason}`);
  }
}
