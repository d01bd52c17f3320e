import type { Known } from "../../protocol/known-options.js";
import type { ClientCapabilities } from "../../protocol/types/index.js";
import { type AnySchema, compileSchema, type OutputOf, type UsableSchema } from "../../schema/compile.js";
import type { SchemaCompiler } from "../../schema/json-schema/types.js";
import type { Context } from "../context.js";

/** Options of a custom method or notification. */
export interface MethodOptions<P extends AnySchema | undefined = undefined> {
  /** Schema of the params. */
  readonly params?: P | undefined;
  /** Capabilities that the client must have declared. Other calls fail with an error that names the missing ones. */
  readonly requires?: ClientCapabilities | undefined;
  /**
   * Seals the state that the handler returns in an `input_required` result, as for tools. Without it, the state must be
   * a string, is sent unprotected, and `ctx.requestState` is whatever the client sends back. Responses and steps of
   * `ctx.elicit` and similar methods are always sealed.
   * @default false
   */
  readonly sealState?: boolean | undefined;
  /** Member of params that names the target of a request. HTTP clients also send it in the header `Mcp-Name`. */
  readonly nameFrom?: string | undefined;
}

export const METHOD_OPTIONS: Known<MethodOptions<AnySchema>> = {
  params: "any",
  requires: {
    experimental: "object",
    roots: { listChanged: "boolean" },
    sampling: { context: "object", tools: "object" },
    elicitation: { form: "object", url: "object" },
    tasks: "object",
    extensions: "object",
  },
  sealState: "boolean",
  nameFrom: "string",
};

export type MethodParams<P> = P extends AnySchema ? OutputOf<P> : Record<string, unknown>;
export type MethodHandler<P> = (params: MethodParams<P>, ctx: Context) => unknown;
/** Handles notifications that have no other handler. */
export type OtherNotificationHandler = (notification: {
  readonly method: string;
  readonly params?: { readonly [key: string]: unknown };
}) => void | Promise<void>;
/**
 * Handles a notification. `ctx` can send notifications and requests if the era allows a server to send them on its own.
 */
export type NotificationHandler<P> = (params: MethodParams<P>, ctx: Context) => void | Promise<void>;

/** Compiled definition of a custom method or notification. */
export class CustomMethod {
  readonly requires: ClientCapabilities | undefined;
  readonly sealState: boolean;
  readonly nameFrom: string | undefined;
  readonly params: UsableSchema | undefined;

  constructor(
    readonly name: string,
    options: MethodOptions<AnySchema>,
    readonly handler: (params: never, ctx: Context) => unknown,
    validator: SchemaCompiler | undefined,
  ) {
    this.requires = options.requires;
    this.sealState = options.sealState ?? false;
    this.nameFrom = options.nameFrom;
    const schema = options.params;
    this.params =
      schema === undefined ? undefined : compileSchema(schema, `method "${name}" params`, "input", validator);
  }
}
