import { DefinitionError } from "../../protocol/errors.js";
import { defined } from "../../protocol/json.js";
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
import { type AnySchema, compileSchema, type OutputOf, type UsableSchema } from "../../schema/compile.js";
import type { SchemaCompiler } from "../../schema/json-schema/types.js";
import { isStandardSchema } from "../../schema/standard-schema.js";
import type { Context } from "../context.js";
import { type Access, type AccessOptions, toAccess } from "./access.js";
import type { Completers } from "./completion.js";

export interface PromptOptions<A extends AnySchema | undefined = undefined> extends AccessOptions {
  readonly title?: string;
  readonly description?: string;
  /** The arguments: an object whose members are strings. */
  readonly arguments?: A;
  /** Suggestions for arguments, by name. */
  readonly complete?: Completers;
  readonly icons?: readonly Icon[];
  readonly meta?: JsonObject;
}

export type PromptArguments<A> = A extends AnySchema ? OutputOf<A, Record<string, string>> : Record<string, string>;

/** A string or content stands for one message of the user. */
export type PromptReturn = string | ContentBlock | readonly PromptMessage[] | GetPromptResult | InputRequiredResult;

export type PromptHandler<A> = (args: PromptArguments<A>, ctx: Context) => PromptReturn | Promise<PromptReturn>;

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
  }

  /** The arguments that there are. */
  get names(): readonly string[] {
    return [...(this.listing.arguments ?? []).map(({ name }) => name), ...Object.keys(this.complete)];
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

/** Prompts list their arguments by name instead of by schema. */
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
 * Refuses a schema of arguments that come as texts where a member takes none, neither as its type says nor by coercion.
 * What a schema says in other ways is not looked into. A JSON Schema (`coerces` is false) turns nothing into anything else.
 */
export function assertStringArguments(where: string, schema: UsableSchema, coerces: boolean): void {
  const { properties = {} } = schema.jsonSchema as {
    readonly properties?: { readonly [name: string]: { type?: string } };
  };
  for (const [name, { type = "string" }] of Object.entries(properties)) {
    if (type.includes("string") || (coerces && takes(schema, name, type))) continue;
    throw new DefinitionError(
      `${where}: /${name} can never fit: arguments come as texts; use z.coerce or a transform of z.string()`,
    );
  }
}

/** Whether a text is as good as what it stands for: taken, or refused for the same reason, as one that is too small. */
function takes(schema: UsableSchema, name: string, type: string): boolean {
  const value = type === "boolean" || 1;
  const told = complaint(schema, name, String(value));
  return told === "" || (!/^(array|object)$/.test(type) && told === complaint(schema, name, value));
}

/** What a schema says of one member, whatever else is missing. Who says it later says nothing. */
function complaint(schema: UsableSchema, name: string, value: unknown): string {
  const parsed = schema.parse({ [name]: value });
  if (parsed instanceof Promise || parsed.ok) return "";
  return parsed.issues.flatMap(({ path, message }) => (path.split("/")[1] === name ? message : [])).join();
}
