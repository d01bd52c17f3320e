import { RpcError } from "../schema/errors.js";
import type {
  Annotations,
  Icon,
  InputRequiredResult,
  JsonObject,
  ReadResourceResult,
  Resource,
  ResourceContents,
  ResourceTemplate,
} from "../schema/types.js";
import type { Completers } from "./completion.js";
import { toBase64 } from "./content.js";
import type { Context } from "./context.js";
import { parseUriTemplate, type UriTemplate, type UriVariables } from "./uri-template.js";

export interface ResourceOptions {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly annotations?: Annotations;
  readonly icons?: readonly Icon[];
  readonly meta?: JsonObject;
  /** Suggestions for a template's variables, by name. */
  readonly complete?: Completers;
  /** What clients are told about keeping this resource. */
  readonly cache?: { readonly ttlMs?: number; readonly scope?: "public" | "private" };
}

/** Text, bytes, or contents with members of their own. */
export type ResourceReturn =
  | string
  | Uint8Array
  | { readonly text: string; readonly mimeType?: string }
  | { readonly blob: string; readonly mimeType?: string }
  | ReadResourceResult
  | InputRequiredResult;

export type ResourceHandler<Uri extends string = string> = (
  variables: UriVariables<Uri>,
  ctx: Context,
  uri: string,
) => ResourceReturn | Promise<ResourceReturn>;

export class RegisteredResource {
  /** Set when the resource is a family of URIs. */
  readonly template: UriTemplate | undefined;
  readonly complete: Completers;
  readonly listing: Resource | ResourceTemplate;
  readonly #options: ResourceOptions;
  readonly #handler: ResourceHandler;

  constructor(uri: string, options: ResourceOptions, handler: ResourceHandler) {
    this.template = uri.includes("{") ? parseUriTemplate(uri) : undefined;
    this.complete = options.complete ?? {};
    this.#options = options;
    this.#handler = handler;
    this.listing = toListing(uri, options, this.template !== undefined);
  }

  async read(
    uri: string,
    variables: Record<string, string | string[]>,
    ctx: Context,
  ): Promise<ReadResourceResult | InputRequiredResult> {
    const value = await this.#handler(variables as never, ctx, uri);
    if (isResult(value)) return value;
    const { cache, mimeType } = this.#options;
    return {
      contents: [toContents(uri, value, mimeType)],
      ...(cache?.ttlMs === undefined ? undefined : { ttlMs: cache.ttlMs }),
      ...(cache?.scope === undefined ? undefined : { cacheScope: cache.scope }),
    };
  }
}

/** The code of the versions that have one; an era without it sends its own. */
export function resourceNotFound(uri: string): RpcError {
  return new RpcError(-32002, "Resource not found", { uri });
}

function isResult(value: ResourceReturn): value is ReadResourceResult | InputRequiredResult {
  return typeof value === "object" && ("contents" in value || "resultType" in value);
}

function toContents(
  uri: string,
  value: Exclude<ResourceReturn, ReadResourceResult | InputRequiredResult>,
  mimeType: string | undefined,
): ResourceContents {
  const type = mimeType === undefined ? undefined : { mimeType };
  if (typeof value === "string") return { uri, ...type, text: value };
  if (value instanceof Uint8Array) return { uri, ...type, blob: toBase64(value) };
  return { uri, ...type, ...value } as ResourceContents;
}

function toListing(uri: string, options: ResourceOptions, isTemplate: boolean): Resource | ResourceTemplate {
  const { name, title, description, mimeType, size, annotations, icons, meta } = options;
  return {
    ...(isTemplate ? { uriTemplate: uri } : { uri }),
    name,
    ...(title === undefined ? undefined : { title }),
    ...(description === undefined ? undefined : { description }),
    ...(mimeType === undefined ? undefined : { mimeType }),
    ...(size === undefined || isTemplate ? undefined : { size }),
    ...(annotations === undefined ? undefined : { annotations }),
    ...(icons === undefined ? undefined : { icons: [...icons] }),
    ...(meta === undefined ? undefined : { _meta: meta }),
  } as Resource | ResourceTemplate;
}
