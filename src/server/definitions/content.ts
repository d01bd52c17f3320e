import type {
  AudioContent,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  Resource,
  ResourceContents,
  ResourceLink,
  TextContent,
} from "../../protocol/types/index.js";

export function text(value: string): TextContent {
  return { type: "text", text: value };
}

/** Bytes, or base64 that was made already. */
export function image(data: Uint8Array | string, mimeType: string): ImageContent {
  return { type: "image", data: toBase64(data), mimeType };
}

export function audio(data: Uint8Array | string, mimeType: string): AudioContent {
  return { type: "audio", data: toBase64(data), mimeType };
}

export function embedded(resource: ResourceContents): EmbeddedResource {
  return { type: "resource", resource };
}

export function link(resource: Resource): ResourceLink {
  return { type: "resource_link", ...resource };
}

const TYPES: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);

export function isContentBlock(value: unknown): value is ContentBlock {
  return typeof value === "object" && value !== null && TYPES.has((value as { type?: unknown }).type);
}

/** Bytes as base64; text is that already. */
export function toBase64(data: Uint8Array | string): string {
  if (typeof data === "string") return data;
  let binary = "";
  for (let at = 0; at < data.length; at += 0x8000) binary += String.fromCharCode(...data.subarray(at, at + 0x8000));
  return btoa(binary);
}
