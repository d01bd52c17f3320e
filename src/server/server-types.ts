import type { AnySchema, InputOf, OutputOf } from "../schema/compile.js";
import type { UriVariables } from "./definitions/uri-template.js";

/**
 * Definitions of a server as a type, by name. Each definition adds to it. A client that is connected with
 * `typeof server` is checked against it.
 */
export interface ServerShape {
  readonly tools: NoTypes;
  readonly prompts: NoTypes;
  readonly resources: NoTypes;
}

type NoTypes = Readonly<Record<never, never>>;

// The three types below are aliases. An interface would be instantiated again for each definition that follows.

/** Adds a tool to the type of a server. */
export type ToolType<Name extends string, I, O> = {
  readonly shape: {
    readonly tools: {
      readonly [Key in Name]: {
        readonly input: I extends AnySchema ? InputOf<I> : Record<string, unknown>;
        readonly output: O extends AnySchema ? OutputOf<O> : unknown;
      };
    };
  };
};

/** Adds a prompt to the type of a server. */
export type PromptType<Name extends string, A> = {
  readonly shape: {
    readonly prompts: {
      readonly [Key in Name]: {
        readonly arguments: A extends AnySchema ? InputOf<A, Record<string, string>> : Record<string, string>;
      };
    };
  };
};

/** Adds a resource to the type of a server. */
export type ResourceType<Uri extends string> = {
  readonly shape: { readonly resources: { readonly [Key in Uri]: { readonly variables: UriVariables<Uri> } } };
};
