import type { TemplateValue } from "../protocol/uri-expand.js";
import type { CallOptions } from "./options.js";

/** The definition of a server, as a type that a client knows. Without one, any name goes. */
export interface AnyServer {
  readonly shape: {
    readonly tools: { readonly [name: string]: { readonly input: unknown; readonly output: unknown } };
    readonly prompts: { readonly [name: string]: { readonly arguments: unknown } };
    readonly resources: { readonly [uri: string]: { readonly variables: unknown } };
  };
}

// Signatures write `keyof ServerTools<S> & string` themselves: an alias would be printed in errors in place of the names.
export type ServerTools<S extends AnyServer> = S["shape"]["tools"];
export type ServerPrompts<S extends AnyServer> = S["shape"]["prompts"];
/** Without a definition, arguments are what the protocol says. */
export type PromptArguments<
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
/** The arguments of a call and its options. Arguments may be left out where none is required. */
export type CallArguments<Args, Options> =
  Record<never, never> extends Args ? [args?: Args, options?: Options] : [args: Args, options?: Options];

/** A template's URI is made of the values of its variables. */
export interface ReadOptions<Values> extends CallOptions {
  readonly variables?: Values | undefined;
}
