import type { MaybePromise } from "../../call/maybe-promise.js";
import { resourceNotFound } from "../../era/missing-resource.js";
import { type Call, type HandlerResult, PreparedResult, type ServerRuntime } from "../../era/server-era.js";
import { toBase64 } from "../../protocol/base64.js";
import { RpcError } from "../../protocol/errors.js";
import { INVALID_PARAMS, methodNotFound } from "../../protocol/jsonrpc/errors.js";
import { readResourceResult } from "../../protocol/shapes/content.js";
import { describeIssues, mustBe } from "../../protocol/text.js";
import type { InputRequiredResult, Resource, ResourceContents, ResourceTemplate } from "../../protocol/types/index.js";
import { Caller, type Context } from "../context.js";
import type { Registry } from "./registry.js";
import type { RegisteredResource, ResourcePart, ResourceReturn } from "./resource.js";
import { isInputRequired } from "./tool-result.js";
import { matchUri } from "./uri-match.js";

/** Server runtime with the registry, which decides on visibility. */
export type VisibilityRuntime = ServerRuntime & { readonly registry: Registry };

type Variables = Record<string, string | string[]>;

/** Lists single resources page by page. The last page ends with the listed members of families. */
export async function listResources(registry: Registry, call: Call, ctx: Context): Promise<HandlerResult> {
  if (!registry.offers("resources")) throw methodNotFound(call.method);
  const page = await registry.resources.page(call.params.cursor, ctx);
  const families = registry.templates.values().filter(({ options }) => options.list !== undefined);
  const plain = page instanceof PreparedResult ? page.result : page;
  if (families.length === 0 || plain.nextCursor !== undefined) return page;
  const members = await Promise.all(
    families.map(async (family) => (((await family.access?.(ctx)) ?? true) ? enumerate(family, ctx) : [])),
  );
  return { ...plain, resources: [...(plain.resources as Resource[]), ...members.flat()] };
}

/** Returns the listed members of a family. */
async function enumerate({ options, listing }: RegisteredResource, ctx: Context): Promise<readonly Resource[]> {
  const members = (await options.list?.(ctx)) ?? [];
  const { uriTemplate: _, ...inherited } = listing as ResourceTemplate;
  return members.map((member) => ({ ...inherited, ...member }));
}

export async function readResource(registry: Registry, call: Call, ctx: Context): Promise<HandlerResult> {
  if (!registry.offers("resources")) throw methodNotFound(call.method);
  const uri = call.params.uri as string;
  const found = await findResource(registry, uri, ctx);
  if (found === undefined) throw resourceNotFound(uri);
  const { resource, variables } = found;
  const value = await resource.handler((await parse(resource, variables)) as never, ctx, uri);
  if (value === undefined || value === null) throw resourceNotFound(uri);
  if (isInputRequired(value)) return value as HandlerResult;
  const result = isResult(value)
    ? { ...value, contents: value.contents.map(encodePart) }
    : { contents: [toContents(uri, value, resource.options.mimeType)] };
  const problem = readResourceResult(result);
  if (problem === undefined) return { ...resource.hints, ...result };
  throw new Error(`Resource "${resource.uri}" returned an invalid result: ${mustBe(problem)}`);
}

/** Returns the resource for a URI and a caller, with the values of its template's variables. */
export async function findResource(
  registry: Registry,
  uri: string,
  caller: Caller,
): Promise<{ readonly resource: RegisteredResource; readonly variables: Variables } | undefined> {
  const exact = await registry.resources.find(uri, caller);
  if (exact !== undefined) return { resource: exact, variables: {} };
  for (const resource of registry.templates.values()) {
    const variables = resource.template && matchUri(resource.template, uri);
    const visible = variables !== undefined && ((await resource.access?.(caller, false, uri)) ?? true);
    // The first visible family that matches decides. If it refuses an unsafe path, no later family can accept it.
    if (visible) return registry.allowsUnsafePaths || isSafe(resource, variables) ? { resource, variables } : undefined;
  }
  return undefined;
}

/** True if a resource or a family of resources has this URI. */
export function definesResource({ resources, templates }: Registry, uri: string): boolean {
  if (resources.get(uri) !== undefined) return true;
  return templates.values().some(({ template }) => template !== undefined && matchUri(template, uri) !== undefined);
}

/** True if the caller may know of a resource. A URI without a definition is visible to everyone. */
export function seesResource(runtime: VisibilityRuntime, call: Call, uri: string): MaybePromise<boolean> {
  const { registry } = runtime;
  const family = registry.templates
    .values()
    .filter(({ template }) => template !== undefined && matchUri(template, uri) !== undefined);
  const single = registry.resources.get(uri);
  const all = single === undefined ? family : [single, ...family];
  if (all.length === 0 || all.some(({ access }) => access === undefined)) return true;
  return findResource(registry, uri, new Caller(call, runtime)).then((found) => found !== undefined);
}

/** True if no variable is dangerous as a file path, apart from the exempt ones. */
function isSafe({ options: { unsafePaths = false } }: RegisteredResource, variables: Variables): boolean {
  if (unsafePaths === true) return true;
  const exempt = unsafePaths === false ? [] : unsafePaths;
  return Object.entries(variables).every(([name, value]) => exempt.includes(name) || !isUnsafePath(value));
}

async function parse(resource: RegisteredResource, variables: Variables): Promise<unknown> {
  const parsed = await resource.variables?.parse(variables);
  if (parsed === undefined) return variables;
  if (parsed.ok) return parsed.value;
  throw new RpcError(
    INVALID_PARAMS,
    `Invalid params: variables of /uri do not match: ${describeIssues(parsed.issues)}`,
  );
}

type Value = Exclude<ResourceReturn, InputRequiredResult | undefined>;
type Whole = Extract<Value, { readonly contents: unknown }>;

function isResult(value: Value): value is Whole {
  return typeof value === "object" && "contents" in value;
}

function toContents(uri: string, value: Exclude<Value, Whole>, mimeType: string | undefined): ResourceContents {
  const type = mimeType === undefined ? undefined : { mimeType };
  if (typeof value === "string") return { uri, ...type, text: value };
  if (value instanceof Uint8Array) return { uri, ...type, blob: toBase64(value) };
  return encodePart({ uri, ...type, ...value } as ResourcePart);
}

function encodePart(part: ResourcePart): ResourceContents {
  const { blob } = part as { blob?: unknown };
  return (blob instanceof Uint8Array ? { ...part, blob: toBase64(blob) } : part) as ResourceContents;
}

/**
 * True if a value is dangerous as a file path: it leaves its start folder by `..`, is absolute on any platform, or
 * contains NUL. Both slashes count as separators on each platform.
 */
export function isUnsafePath(value: string | readonly string[]): boolean {
  const path = typeof value === "string" ? value : value.join("/");
  return (
    path.includes("\0") ||
    isAbsolute(path) ||
    climbs(path) ||
    (typeof value !== "string" && value.some((part) => isUnsafePath(part)))
  );
}

function isAbsolute(path: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:)/.test(path);
}

function climbs(path: string): boolean {
  let depth = 0;
  for (const part of path.split(/[/\\]/)) {
    if (part === "..") depth -= 1;
    else if (part !== "" && part !== ".") depth += 1;
    if (depth < 0) return true;
  }
  return false;
}
