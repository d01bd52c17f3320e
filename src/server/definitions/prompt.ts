import { DefinitionError } from "../../protocol/errors.js";
import { defined } from "../../protocol/json.js";
import type { Known } from "../../protocol/known-options.js";
import type {
  ContentBlock,
  GetPromptResult,
  Icon,
  InputRequiredResult,
  JsonObject,
  Prompt,
  PromptArgument,
  PromptMessage,
} from "../../protocol/types/index.js";
import {
  type AnySchema,
  compileSchema,
  type InputOf,
  type OutputOf,
  type StandardSchema,
  type UsableSchema,
} from "../../schema/compile.js";
import type { SchemaCompiler } from "../../schema/json-schema/types.js";
import { isStandardSchema } from "../../schema/standard-schema.js";
import type { Context } from "../context.js";
import { type Access, type AccessOptions, toAccess } from "./access.js";
import { assertCompleters, type Completers } from "./completion.js";
import { LISTED_OPTIONS } from "./listed.js";

/** Options of a prompt. */
export interface PromptOptions<A extends AnySchema | undefined = undefined> extends AccessOptions {
  /** Name for people, in menus of hosts: `title: "Review code"`. */
  readonly title?: string | undefined;
  /** What the prompt is for, for people: `description: "Reviews code for mistakes."`. */
  readonly description?: string | undefined;
  /** Schema of the arguments: an object whose members are strings. */
  readonly arguments?: A | undefined;
  /** Completers of arguments, by name. */
  readonly complete?: Completers<PromptArgumentName<A>> | undefined;
  /** Icons for menus of hosts. */
  readonly icons?: readonly Icon[] | undefined;
  /** `_meta` of the prompt in listings. */
  readonly meta?: JsonObject | undefined;
}

export const PROMPT_OPTIONS: Known<PromptOptions<AnySchema>> = {
  ...LISTED_OPTIONS,
  arguments: "any",
  complete: "object",
};

export type PromptArguments<A> = A extends AnySchema ? OutputOf<A, Record<string, string>> : Record<string, string>;

/** Names of a prompt's arguments. Any name if a schema of a library does not tell them. */
export type PromptArgumentName<A> = A extends StandardSchema
  ? unknown extends InputOf<A>
    ? string
    : keyof InputOf<A> & string
  : string;

/** Result of a prompt handler. A string or content block becomes one message with the role `user`. */
export type PromptReturn = string | ContentBlock | readonly PromptMessage[] | GetPromptResult | InputRequiredResult;

export type PromptHandler<A> = (args: PromptArguments<A>, ctx: Context) => PromptReturn | Promise<PromptReturn>;

/** Compiled definition of a prompt. */
export class RegisteredPrompt {
  readonly listing: Prompt;
  readonly complete: Completers;
  readonly access: Access | undefined;
  readonly arguments: UsableSchema | undefined;

  constructor(
    name: string,
    readonly options: PromptOptions<AnySchema>,
    readonly handler: PromptHandler<AnySchema>,
    { validator }: { readonly validator: SchemaCompiler | undefined },
  ) {
    const schema = options.arguments;
    this.arguments =
      schema === undefined ? undefined : compileSchema(schema, `prompt "${name}" arguments`, "input", validator);
    if (this.arguments !== undefined)
      assertStringArguments(`prompt "${name}" arguments`, this.arguments, isStandardSchema(schema));
    this.access = toAccess(options);
    this.complete = options.complete ?? {};
    this.listing = toListing(name, options, this.arguments);
    if (this.arguments?.jsonSchema.properties !== undefined)
      assertCompleters(`prompt "${name}"`, this.complete, this.#listed);
  }

  /** Names of the arguments. A prompt without a schema takes any, and its completers name those that clients complete. */
  get names(): readonly string[] {
    return [...this.#listed, ...Object.keys(this.complete)];
  }

  get #listed(): readonly string[] {
    return (this.listing.arguments ?? []).map(({ name }) => name);
  }
}

function toListing(name: string, options: PromptOptions<AnySchema>, schema: UsableSchema | undefined): Prompt {
  const { title, description, icons, meta } = options;
  return defined<Prompt>({
    name,
    title,
    description,
    arguments: schema && toArguments(schema),
    icons: icons && [...icons],
    _meta: meta,
  });
}

/** Converts the schema to a list of arguments, because prompts have no schema in MCP. */
function toArguments(schema: UsableSchema): PromptArgument[] {
  const { properties = {}, required = [] } = schema.jsonSchema as {
    properties?: Record<string, { title?: string; description?: string }>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { title, description }]) =>
    defined<PromptArgument>({ name, title, description, required: required.includes(name) || undefined }),
  );
}

/**
 * Throws if a member of the schema can never match a string, neither by its type nor by coercion, since arguments
 * arrive as strings. Only top-level types are examined. A JSON Schema (`coerces` is false) never coerces.
 */
export function assertStringArguments(where: string, schema: UsableSchema, coerces: boolean): void {
  const { properties = {} } = schema.jsonSchema as {
    readonly properties?: { readonly [name: string]: { type?: string } };
  };
  for (const [name, { type = "string" }] of Object.entries(properties)) {
    if (type.includes("string") || (coerces && takes(schema, name, type))) continue;
    throw new DefinitionError(`${where}: /${name} must accept strings; use z.coerce`);
  }
}

/**
 * True if the schema accepts the string form of a sample value, or refuses both forms with the same issue, such as a
 * minimum. A refused array or object counts as not accepted.
 */
function takes(schema: UsableSchema, name: string, type: string): boolean {
  const value = type === "boolean" || 1;
  const told = complaint(schema, name, String(value));
  return told === "" || (!/^(array|object)$/.test(type) && told === complaint(schema, name, value));
}

/** Returns the issues of one member, or "" if there are none or if the schema is asynchronous. */
function complaint(schema: UsableSchema, name: string, value: unknown): string {
  const parsed = schema.parse({ [name]: value });
  if (parsed instanceof Promise || parsed.ok) return "";
  return parsed.issues.flatMap(({ path, message }) => (path.split("/")[1] === name ? message : [])).join();
}
