import type { Annotations, BaseMetadata, Icon, Meta } from "./base.js";

/** Text for the model or the user. */
export interface TextContent {
  type: "text";
  text: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** Image, encoded as base64. */
export interface ImageContent {
  type: "image";
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** Audio clip, encoded as base64. */
export interface AudioContent {
  type: "audio";
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** Description of a resource that the server can read. */
export interface Resource extends BaseMetadata {
  uri: string;
  description?: string;
  mimeType?: string;
  /** Size in bytes before any encoding. */
  size?: number;
  icons?: Icon[];
  annotations?: Annotations;
  _meta?: Meta;
}

/** Set of resources whose URIs match an RFC 6570 template. */
export interface ResourceTemplate extends BaseMetadata {
  uriTemplate: string;
  description?: string;
  mimeType?: string;
  icons?: Icon[];
  annotations?: Annotations;
  _meta?: Meta;
}

/** Contents of a resource as text. */
export interface TextResourceContents {
  uri: string;
  mimeType?: string;
  text: string;
  _meta?: Meta;
}

/** Contents of a resource as base64. */
export interface BlobResourceContents {
  uri: string;
  mimeType?: string;
  blob: string;
  _meta?: Meta;
}

/** Contents of a resource. */
export type ResourceContents = TextResourceContents | BlobResourceContents;

/** Reference to a resource that the client can read later. */
export interface ResourceLink extends Resource {
  type: "resource_link";
}

/** Resource with its contents, embedded in a message or a result. */
export interface EmbeddedResource {
  type: "resource";
  resource: ResourceContents;
  annotations?: Annotations;
  _meta?: Meta;
}

/** Block of content in a tool's result or a prompt's message. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;
