/** Anything JSON can carry. */
export type JsonValue = string | number | boolean | null | JsonObject | JsonValue[];

/** A JSON object. */
export interface JsonObject {
  [member: string]: JsonValue;
}

/** A JSON Schema document that is an object; its keywords are not interpreted here. */
export interface JsonSchema {
  $schema?: string;
  [keyword: string]: unknown;
}

/** A request id as the wire carries it. `0` and `""` are ids; `7` and `"7"` are different values of one id. */
export type RequestId = string | number;

/** The caller's own mark on a request, repeated by every progress notification about it. */
export type ProgressToken = string | number;

/** An opaque mark of where the next page begins. */
export type Cursor = string;

/** Free metadata under `_meta`; names with a prefix belong to whoever owns the prefix. */
export interface Meta {
  [name: string]: unknown;
}

/** Metadata of a request. */
export interface RequestMeta extends Meta {
  progressToken?: ProgressToken;
}

/** Who speaks in a conversation. */
export type Role = "user" | "assistant";

/** How grave a log message is, from least to most. */
export type LoggingLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** A picture that stands for a thing in a user interface. */
export interface Icon {
  src: string;
  mimeType?: string;
  /** Sizes such as `48x48`, or `any` for a scalable image. */
  sizes?: string[];
  /** The background the picture is made for. */
  theme?: "light" | "dark";
}

/** What every named thing has: a name for programs and perhaps a title for people. */
export interface BaseMetadata {
  name: string;
  title?: string;
}

/** Name and version of a client or a server. */
export interface Implementation extends BaseMetadata {
  version: string;
  description?: string;
  websiteUrl?: string;
  icons?: Icon[];
}

/** Hints for the client about who a thing is for and how much it matters. */
export interface Annotations {
  audience?: Role[];
  /** From 0 (may be left out) to 1 (needed). */
  priority?: number;
  /** An ISO 8601 time. */
  lastModified?: string;
}

/** How far a request has come. */
export interface Progress {
  /** Grows with every notification. */
  progress: number;
  total?: number;
  message?: string;
}

/** Who may keep a copy of a cacheable result: anyone, or only the one who asked. */
export type CacheScope = "public" | "private";

/** What every result may carry. Absent `resultType` means `complete`. */
export interface Result {
  _meta?: Meta;
  resultType?: string;
  [member: string]: unknown;
}

/** A result that says how long it stays fresh. */
export interface CacheableResult extends Result {
  resultType?: "complete";
  ttlMs?: number;
  cacheScope?: CacheScope;
}

/** One page of a list. */
export interface PaginatedResult extends CacheableResult {
  /** Present when there is a next page. */
  nextCursor?: Cursor;
}

/** Parameters of a request for one page of a list. */
export interface PaginatedParams {
  _meta?: RequestMeta;
  cursor?: Cursor;
}
