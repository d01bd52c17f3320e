import type { TemplateValue } from "../protocol/uri-expand.js";
import type { CallOptions } from "./options.js";

/** Definitions of a server as a type. Without one, any name is allowed. */
export interface AnyServer {
  readonly shape: {
    readonly tools: { readonly [name: string]: { readonly input: unknown; readonly output: unknown } };
    readonly prompts: { readonly [name: string]: { readonly arguments: unknown } };
    readonly resources: { readonly [uri: string]: { readonly variables: unknown } };
  };
}

type Shape<Kind extends keyof AnyServer["shape"], S extends AnyServer> = [keyof S["shape"][Kind]] extends [never]
  ? AnyServer["shape"][Kind]
  : S["shape"][Kind];

// Signatures write `keyof ServerTools<S> & string` themselves, since errors would show an alias instead of the names.
/** Tools of a server by name. Any name is allowed if its type has none, as after definitions that were not chained. */
export type ServerTools<S extends AnyServer> = Shape<"tools", S>;
export type ServerPrompts<S extends AnyServer> = Shape<"prompts", S>;
/** Arguments of a prompt. Without a definition, they are strings by name. */
export type ServerPromptArguments<
  S extends AnyServer,
  Name extends keyof ServerPrompts<S>,
> = unknown extends ServerPrompts<S>[Name]["arguments"]
  ? Readonly<Record<string, string>>
  : ServerPrompts<S>[Name]["arguments"];
export type ResourceUri<S extends AnyServer> = keyof S["shape"]["resources"] & string;
export type ResourceVariables<S extends AnyServer, Uri extends string> =
  Uri extends ResourceUri<S>
    ? unknown extends S["shape"]["resources"][Uri]["variables"]
      ? TemplateValues
      : S["shape"]["resources"][Uri]["variables"]
    : TemplateValues;
export type TemplateValues = { readonly [name: string]: TemplateValue };
/** Arguments and options of a call. Arguments are optional if none is required. */
export type CallArguments<Args, Options> =
  Record<never, never> extends Args ? [args?: Args, options?: Options] : [args: Args, options?: Options];

/** Options of `readResource`. `variables` are the values for a URI template. */
export interface ReadOptions<Values> extends CallOptions {
  /** Values of the variables, if the URI is a template. */
  readonly variables?: Values | undefined;
}
