import { DefinitionError } from "../../protocol/errors.js";
import { defined } from "../../protocol/json.js";
import type { Known } from "../../protocol/known-options.js";
import { annotations } from "../../protocol/shapes/common.js";
import { isUri } from "../../protocol/shapes/kit.js";
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
} from "../../protocol/types/index.js";
import { type AnySchema, compileSchema, type OutputOf, type UsableSchema } from "../../schema/compile.js";
import type { SchemaCompiler } from "../../schema/json-schema/types.js";
import type { Context } from "../context.js";
import { assertCacheHints, CACHE_HINTS, type CacheHints, toWireHints } from "../options.js";
import { type Access, type AccessOptions, toAccess } from "./access.js";
import { assertCompleters, type Completers } from "./completion.js";
import { LISTED_OPTIONS } from "./listed.js";
import { parseUriTemplate, type UriTemplate, type UriVariables } from "./uri-template.js";

/** Listed member of a resource family. Missing properties are taken from the options of the family. */
export type EnumeratedResource = Partial<Omit<Resource, "uri">> & { readonly uri: string };

/** Options of a resource or resource template. */
export interface ResourceOptions<V extends AnySchema | undefined = AnySchema | undefined, Name extends string = string>
  extends AccessOptions {
  /** Name for programs: `name: "note"`. */
  readonly name: string;
  /** Name for people: `title: "Notes of the team"`. */
  readonly title?: string | undefined;
  /** What the resource contains, for people and models: `description: "A note in Markdown."`. */
  readonly description?: string | undefined;
  /** Media type of the contents: `mimeType: "text/markdown"`. */
  readonly mimeType?: string | undefined;
  /** Size in bytes. */
  readonly size?: number | undefined;
  /** Hints for hosts: for whom the resource is, and how important it is. */
  readonly annotations?: Annotations | undefined;
  /** Icons for menus of hosts. */
  readonly icons?: readonly Icon[] | undefined;
  /** `_meta` of the resource in listings. */
  readonly meta?: JsonObject | undefined;
  /** Schema of a template's variables, which arrive as strings. A URI whose variables do not match is refused. */
  readonly variables?: V | undefined;
  /**
   * Variables that may contain absolute paths, NUL, and paths that leave their start folder by `..`. `true` allows
   * them in all variables.
   * @default false
   */
  readonly unsafePaths?: boolean | readonly string[] | undefined;
  /** Completers of a template's variables, by name. */
  readonly complete?: Completers<Name> | undefined;
  /** Cache hints for clients. */
  readonly cache?: CacheHints | undefined;
  /** Lists the members of a family. They follow all single resources in `resources/list`. */
  readonly list?:
    | ((ctx: Context) => readonly EnumeratedResource[] | Promise<readonly EnumeratedResource[]>)
    | undefined;
}

export const RESOURCE_OPTIONS: Known<ResourceOptions> = {
  ...LISTED_OPTIONS,
  name: "string",
  mimeType: "string",
  size: "count",
  annotations: [{ object: "any" }],
  variables: "any",
  unsafePaths: [{ boolean: "any", array: "string" }],
  complete: "object",
  cache: CACHE_HINTS,
  list: "function",
};

/** Result of a resource handler: text, bytes, or contents with their own members. */
export type ResourceReturn =
  | string
  | Uint8Array
  | { readonly text: string; readonly mimeType?: string }
  | { readonly blob: string | Uint8Array; readonly mimeType?: string }
  | { readonly contents: readonly ResourcePart[]; readonly _meta?: JsonObject }
  | ReadResourceResult
  | InputRequiredResult
  /** The resource does not exist. */
  | undefined;

/** Item of `contents`. Bytes are encoded as base64. */
export type ResourcePart =
  | ResourceContents
  | { readonly uri: string; readonly blob: Uint8Array; readonly mimeType?: string; readonly _meta?: JsonObject };

/** Reads a resource. */
export type ResourceHandler<Uri extends string = string, V extends AnySchema | undefined = undefined> = (
  variables: V extends AnySchema ? OutputOf<V> : UriVariables<Uri>,
  ctx: Context,
  uri: string,
) => ResourceReturn | Promise<ResourceReturn>;

/** Compiled definition of a resource or resource template. */
export class RegisteredResource {
  /** Undefined for a resource with a fixed URI. */
  readonly template: UriTemplate | undefined;
  readonly complete: Completers;
  readonly listing: Resource | ResourceTemplate;
  readonly access: Access | undefined;
  readonly variables: UsableSchema | undefined;
  readonly hints: { readonly ttlMs?: number; readonly cacheScope?: CacheScope };

  constructor(
    readonly uri: string,
    readonly options: ResourceOptions,
    readonly handler: ResourceHandler,
    { validator }: { readonly validator: SchemaCompiler | undefined },
  ) {
    const { cache = {}, list } = options;
    assertCacheHints(`resource "${uri}" cache`, cache);
    this.template = uri.includes("{") ? parseUriTemplate(uri) : undefined;
    if (list !== undefined && this.template === undefined) {
      throw new DefinitionError(`resource "${uri}": "list" requires a URI template`);
    }
    const problem = this.template === undefined ? staticProblem(uri) : templateProblem(uri);
    if (problem !== undefined) throw new DefinitionError(`resource "${uri}": ${problem}`);
    const wrong = options.annotations === undefined ? undefined : annotations(options.annotations);
    if (wrong !== undefined) {
      throw new DefinitionError(`resource "${uri}": annotations${wrong.path} must be ${wrong.expected}`);
    }
    const { variables } = options;
    this.variables = variables && compileSchema(variables, `resource "${uri}" variables`, "input", validator);
    this.complete = options.complete ?? {};
    assertCompleters(`resource "${uri}"`, this.complete, this.names);
    this.access = toAccess(options);
    this.hints = toWireHints(this.access === undefined ? cache : { scope: "private", ...cache });
    this.listing = toListing(uri, options, this.template !== undefined);
  }

  /** Names of the variables. */
  get names(): readonly string[] {
    return this.template?.variables ?? [];
  }
}

function staticProblem(uri: string): string | undefined {
  return isUri(uri) ? undefined : "must be an absolute URI";
}

/** Returns the problem of a template. A template that begins with a variable may match any scheme. */
function templateProblem(template: string): string | undefined {
  const legal = template.startsWith("{") || /^[A-Za-z][A-Za-z0-9+.-]*[:{]/.test(template);
  return legal && !/[\s\p{Cc}]/u.test(template) ? undefined : "must begin with a URI scheme and contain no spaces";
}

function toListing(uri: string, options: ResourceOptions, isTemplate: boolean): Resource | ResourceTemplate {
  const { name, title, description, mimeType, size, annotations, icons, meta } = options;
  return defined<Resource | ResourceTemplate>({
    ...(isTemplate ? { uriTemplate: uri } : { uri, size }),
    name,
    title,
    description,
    mimeType,
    annotations,
    icons: icons && [...icons],
    _meta: meta,
  });
}
