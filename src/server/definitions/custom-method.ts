import type { ClientCapabilities } from "../../protocol/types/index.js";
import { type AnySchema, compileSchema, type OutputOf, type UsableSchema } from "../../schema/compile.js";
import type { SchemaCompiler } from "../../schema/json-schema/types.js";
import type { Context } from "../context.js";

export interface MethodOptions<P extends AnySchema | undefined = undefined> {
  /** What params must look like. */
  readonly params?: P;
  /** What a client must have declared to be served; others are told what is missing. */
  readonly requires?: ClientCapabilities;
  /**
   * Seals the state that the handler puts into an `input_required` result, as it is for tools. Without this the state is
   * sent as written, must be a string, and comes back in `ctx.state` as whatever the client made of it. Answers and steps
   * of `ctx.elicit` and the like are sealed in any case.
   */
  readonly sealState?: boolean;
  /** The member of params that names what a request is about. Over HTTP clients say it in the header Mcp-Name too. */
  readonly nameFrom?: string;
}

export type MethodParams<P> = P extends AnySchema ? OutputOf<P> : Record<string, unknown>;
export type MethodHandler<P> = (params: MethodParams<P>, ctx: Context) => unknown;
/** Hears of notifications that have no handler of their own. */
export type OtherNotificationHandler = (notification: {
  readonly method: string;
  readonly params?: { readonly [key: string]: unknown };
}) => void | Promise<void>;
/** `ctx` can ask and tell as a call can, where the era lets a server do so on its own. */
export type NotificationHandler<P> = (params: MethodParams<P>, ctx: Context) => void | Promise<void>;

/** A method or notification that an author defined, with its schema compiled. */
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
