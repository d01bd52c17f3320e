/** Any value that JSON can represent. */
export type JsonValue = string | number | boolean | null | JsonObject | JsonValue[];

/** JSON object. */
export interface JsonObject {
  [member: string]: JsonValue;
}

/** JSON Schema in object form, from an author or a peer. It is never changed in place. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Id of a JSON-RPC request as sent. `0` and `""` are valid ids. `7` and `"7"` are two spellings of the same id. */
export type RequestId = string | number;

/** Token that the caller attaches to a request. Every progress notification about the request repeats it. */
export type ProgressToken = string | number;

/** Opaque position of the next page of a list. */
export type Cursor = string;

/** Free metadata under `_meta`. Names with a prefix belong to the owner of the prefix. */
export interface Meta {
  [name: string]: unknown;
}

/** Metadata of a request. */
export interface RequestMeta extends Meta {
  progressToken?: ProgressToken;
}

/** Speaker of a message in a conversation. */
export type Role = "user" | "assistant";

/** Severity of a log message, from the least to the most severe. */
export type LoggingLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** Image that represents an entity in a user interface. */
export interface Icon {
  src: string;
  mimeType?: string;
  /** Sizes such as `48x48`, or `any` for a scalable image. */
  sizes?: string[];
  /** Background that the image is designed for. */
  theme?: "light" | "dark";
}

/** Members of every named entity: a name for programs and an optional title for people. */
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

/** Hints for the client about the audience and the importance of content. */
export interface Annotations {
  audience?: Role[];
  /** From 0 (optional) to 1 (required). */
  priority?: number;
  /** ISO 8601 date and time. */
  lastModified?: string;
}

/** Progress of a request. */
export interface Progress {
  /** Increases with every notification. */
  progress: number;
  total?: number;
  message?: string;
}

/** Caches that may store a result: any cache, or only the cache of the client that sent the request. */
export type CacheScope = "public" | "private";

/** Members that every result may have. An absent `resultType` means `complete`. */
export interface Result {
  _meta?: Meta;
  resultType?: string;
  [member: string]: unknown;
}

/** Result that states how long it stays fresh. */
export interface CacheableResult extends Result {
  resultType?: "complete";
  ttlMs?: number;
  cacheScope?: CacheScope;
}

/** Page of a list. */
export interface PaginatedResult extends CacheableResult {
  /** Present if there is a next page. */
  nextCursor?: Cursor;
}

/** Parameters of a request for a page of a list. */
export interface PaginatedParams {
  _meta?: RequestMeta;
  cursor?: Cursor;
}
