import { DefinitionError, RpcError } from "../schema/errors.js";
import type {
  Annotations,
  CacheScope,
  Icon,
  InputRequiredResult,
  JsonObject,
  ReadResourceResult,
  Resource,
  ResourceContents,
  ResourceTemplate,
} from "../schema/types.js";
import { type Access, type AccessOptions, toAccess } from "./access.js";
import { assertCacheHints, type CacheHints, toWireHints } from "./cache-hints.js";
import type { Completers } from "./completion.js";
import { toBase64 } from "./content.js";
import type { Context } from "./context.js";
import { isInputRequired } from "./tool-result.js";
import { parseUriTemplate, type UriTemplate, type UriVariables } from "./uri-template.js";

/** A resource of a family: what it does not say of itself, the family's options say. */
export type EnumeratedResource = Partial<Omit<Resource, "uri">> & { readonly uri: string };

export interface ResourceOptions extends AccessOptions {
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
  readonly cache?: CacheHints;
  /** The members of a family that are listed, after all single resources. */
  readonly list?: (ctx: Context) => readonly EnumeratedResource[] | Promise<readonly EnumeratedResource[]>;
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
  readonly access: Access | undefined;
  readonly #hints: { readonly ttlMs?: number; readonly cacheScope?: CacheScope };

  constructor(
    readonly uri: string,
    readonly options: ResourceOptions,
    readonly handler: ResourceHandler,
  ) {
    const { cache = {}, list } = options;
    assertCacheHints(`resource "${uri}" cache`, cache);
    this.template = uri.includes("{") ? parseUriTemplate(uri) : undefined;
    if (list !== undefined && this.template === undefined) {
      throw new DefinitionError(`resource "${uri}": only a URI template has members to list`);
    }
    this.complete = options.complete ?? {};
    this.access = toAccess(options);
    this.#hints = toWireHints(this.access === undefined ? cache : { scope: "private", ...cache });
    this.listing = toListing(uri, options, this.template !== undefined);
  }

  /** The members of this family that are to be listed. */
  async enumerate(ctx: Context): Promise<readonly Resource[]> {
    const members = (await this.options.list?.(ctx)) ?? [];
    const { uriTemplate: _, ...inherited } = this.listing as ResourceTemplate;
    return members.map((member) => ({ ...inherited, ...member }));
  }

  async read(
    uri: string,
    variables: Record<string, string | string[]>,
    ctx: Context,
  ): Promise<ReadResourceResult | InputRequiredResult> {
    const value = await this.handler(variables as never, ctx, uri);
    if (isInputRequired(value)) return value;
    const result = isResult(value) ? value : { contents: [toContents(uri, value, this.options.mimeType)] };
    return { ...this.#hints, ...result };
  }
}

/** The code of the versions that have one; an era without it sends its own. */
export function resourceNotFound(uri: string): RpcError {
  return new RpcError(-32002, "Resource not found", { uri });
}

function isResult(value: Exclude<ResourceReturn, InputRequiredResult>): value is ReadResourceResult {
  return typeof value === "object" && "contents" in value;
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
