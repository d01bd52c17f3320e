import { INVALID_PARAMS, Refusal } from "../jsonrpc/error-codes.js";
import type { JsonSchemaValidator } from "../schema/json-schema/validator.js";
import { type AnySchema, compileSchema, type OutputOf, type UsableSchema } from "../schema/standard.js";
import type { ClientCapabilities } from "../schema/types.js";
import type { Context } from "./context.js";

export interface MethodOptions<P extends AnySchema | undefined = undefined> {
  /** What params must look like. */
  readonly params?: P;
  /** What a client must have declared to be served; others are told what is missing. */
  readonly requires?: ClientCapabilities;
}

export type MethodParams<P> = P extends AnySchema ? OutputOf<P> : Record<string, unknown>;
export type MethodHandler<P> = (params: MethodParams<P>, ctx: Context) => unknown;
export type NotificationHandler<P> = (params: MethodParams<P>) => void | Promise<void>;

/** A method or notification that an author defined, with its schema compiled. */
export class CustomMethod {
  readonly requires: ClientCapabilities | undefined;
  readonly #params: UsableSchema | undefined;

  constructor(
    readonly name: string,
    options: MethodOptions<AnySchema>,
    readonly handler: (params: never, ctx: Context) => unknown,
    validator: JsonSchemaValidator | undefined,
  ) {
    this.requires = options.requires;
    const schema = options.params;
    this.#params =
      schema === undefined ? undefined : compileSchema(schema, `method "${name}" params`, "input", validator);
  }

  /** The params as the handler wants them; a refusal that names the place otherwise. */
  async parse(params: unknown): Promise<unknown> {
    if (this.#params === undefined) return params;
    const { _meta, ...own } = (params ?? {}) as Record<string, unknown>;
    const parsed = await this.#params.parse(own);
    if (parsed.ok) return parsed.value;
    const issues = parsed.issues.map(({ path, message }) => `${path || "/"} ${message}`).join("; ");
    throw new Refusal(INVALID_PARAMS, `Invalid params for ${this.name}: ${issues}`);
  }
}
