import { toBase64 } from "../../protocol/base64.js";
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

/** Creates image content from bytes or base64. */
export function image(data: Uint8Array | string, mimeType: string): ImageContent {
  return { type: "image", data: encoded(data), mimeType };
}

/** Creates audio content from bytes or base64. */
export function audio(data: Uint8Array | string, mimeType: string): AudioContent {
  return { type: "audio", data: encoded(data), mimeType };
}

export function embedded(resource: ResourceContents): EmbeddedResource {
  return { type: "resource", resource };
}

export function link(resource: Resource): ResourceLink {
  return { type: "resource_link", ...resource };
}

export const CONTENT_TYPES: readonly unknown[] = ["text", "image", "audio", "resource", "resource_link"];

export function isContentBlock(value: unknown): value is ContentBlock {
  return typeof value === "object" && value !== null && CONTENT_TYPES.includes((value as { type?: unknown }).type);
}

/** Encodes bytes as base64. A string is base64 already. */
function encoded(data: Uint8Array | string): string {
  return typeof data === "string" ? data : toBase64(data);
}
