import type { Annotations, BaseMetadata, Icon, Meta } from "./base.js";

/** Text for the model or the user. */
export interface TextContent {
  type: "text";
  text: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** An image, as base64. */
export interface ImageContent {
  type: "image";
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** A sound, as base64. */
export interface AudioContent {
  type: "audio";
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** Something the server can read out, described. */
export interface Resource extends BaseMetadata {
  uri: string;
  description?: string;
  mimeType?: string;
  /** Bytes, before any encoding. */
  size?: number;
  icons?: Icon[];
  annotations?: Annotations;
  _meta?: Meta;
}

/** A family of resources, described by an RFC 6570 template. */
export interface ResourceTemplate extends BaseMetadata {
  uriTemplate: string;
  description?: string;
  mimeType?: string;
  icons?: Icon[];
  annotations?: Annotations;
  _meta?: Meta;
}

/** What a resource holds, as text. */
export interface TextResourceContents {
  uri: string;
  mimeType?: string;
  text: string;
  _meta?: Meta;
}

/** What a resource holds, as base64. */
export interface BlobResourceContents {
  uri: string;
  mimeType?: string;
  blob: string;
  _meta?: Meta;
}

/** What a resource holds. */
export type ResourceContents = TextResourceContents | BlobResourceContents;

/** A pointer to a resource that can be read later. */
export interface ResourceLink extends Resource {
  type: "resource_link";
}

/** A resource with its contents, inside a message or a result. */
export interface EmbeddedResource {
  type: "resource";
  resource: ResourceContents;
  annotations?: Annotations;
  _meta?: Meta;
}

/** One piece of a tool's result or of a prompt's message. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;
