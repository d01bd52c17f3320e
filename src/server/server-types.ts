import type { AnySchema, InputOf, OutputOf } from "../schema/compile.js";
import type { UriVariables } from "./definitions/uri-template.js";

/** Tools of a server as a type. A client that is connected with `typeof server` is checked against it. */
export interface ToolTypes {
  readonly [name: string]: { readonly input: unknown; readonly output: unknown };
}

/** Prompts of a server as a type. */
export interface PromptTypes {
  readonly [name: string]: { readonly arguments: unknown };
}

/** Resources of a server as a type, by URI or URI template. */
export interface ResourceTypes {
  readonly [uri: string]: { readonly variables: unknown };
}

/** Type of one tool. */
export type ToolType<Name extends string, I, O> = {
  readonly [Key in Name]: {
    readonly input: I extends AnySchema ? InputOf<I> : Record<string, unknown>;
    readonly output: O extends AnySchema ? OutputOf<O> : unknown;
  };
};

/** Type of one prompt. */
export type PromptType<Name extends string, A> = {
  readonly [Key in Name]: {
    readonly arguments: A extends AnySchema ? InputOf<A, Record<string, string>> : Record<string, string>;
  };
};

/** Type of one resource. */
export type ResourceType<Uri extends string> = {
  readonly [Key in Uri]: { readonly variables: UriVariables<Uri> };
};
