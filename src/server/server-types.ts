import type { AnySchema, InputOf, OutputOf } from "../schema/compile.js";
import type { UriVariables } from "./definitions/uri-template.js";

/** The tools that a server has, as a type: a client connected to `typeof server` is checked against it. */
export interface ToolTypes {
  readonly [name: string]: { readonly input: unknown; readonly output: unknown };
}

/** The prompts that a server has, as a type. */
export interface PromptTypes {
  readonly [name: string]: { readonly arguments: unknown };
}

/** The resources that a server has, by URI or URI template, as a type. */
export interface ResourceTypes {
  readonly [uri: string]: { readonly variables: unknown };
}

/** What defining one tool adds to them. */
export type ToolType<Name extends string, I, O> = {
  readonly [Key in Name]: {
    readonly input: I extends AnySchema ? InputOf<I> : Record<string, unknown>;
    readonly output: O extends AnySchema ? OutputOf<O> : unknown;
  };
};

/** What defining one prompt adds to them. */
export type PromptType<Name extends string, A> = {
  readonly [Key in Name]: {
    readonly arguments: A extends AnySchema ? InputOf<A, Record<string, string>> : Record<string, string>;
  };
};

/** What defining one resource adds to them. */
export type ResourceType<Uri extends string> = {
  readonly [Key in Uri]: { readonly variables: UriVariables<Uri> };
};
