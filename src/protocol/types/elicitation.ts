import type { Meta } from "./base.js";

/** What every field of a form may say about itself. */
export interface FieldMetadata {
  title?: string;
  description?: string;
}

/** A text field. */
export interface StringSchema extends FieldMetadata {
  type: "string";
  minLength?: number;
  maxLength?: number;
  format?: "email" | "uri" | "date" | "date-time";
  default?: string;
}

/** A number field. */
export interface NumberSchema extends FieldMetadata {
  type: "number" | "integer";
  minimum?: number;
  maximum?: number;
  default?: number;
}

/** A yes-or-no field. */
export interface BooleanSchema extends FieldMetadata {
  type: "boolean";
  default?: boolean;
}

/** One choice with a label of its own. */
export interface TitledOption {
  const: string;
  title: string;
}

/** One of several values. `enumNames` is the labelling of older versions; prefer `oneOf`. */
export interface UntitledSingleSelectSchema extends FieldMetadata {
  type: "string";
  enum: string[];
  enumNames?: string[];
  default?: string;
}

/** One of several labelled values. */
export interface TitledSingleSelectSchema extends FieldMetadata {
  type: "string";
  oneOf: TitledOption[];
  default?: string;
}

/** Any of several values. */
export interface UntitledMultiSelectSchema extends FieldMetadata {
  type: "array";
  items: { type: "string"; enum: string[] };
  minItems?: number;
  maxItems?: number;
  default?: string[];
}

/** Any of several labelled values. */
export interface TitledMultiSelectSchema extends FieldMetadata {
  type: "array";
  items: { anyOf: TitledOption[] };
  minItems?: number;
  maxItems?: number;
  default?: string[];
}

/** A choice, in any of its shapes. */
export type EnumSchema =
  | UntitledSingleSelectSchema
  | TitledSingleSelectSchema
  | UntitledMultiSelectSchema
  | TitledMultiSelectSchema;

/** One field of a form. */
export type PrimitiveSchema = StringSchema | NumberSchema | BooleanSchema | EnumSchema;

/** A form: one level of named fields. */
export interface ElicitSchema {
  $schema?: string;
  type: "object";
  properties: { [field: string]: PrimitiveSchema };
  required?: string[];
}

/** Asks the user to fill in a form. */
export interface ElicitFormParams {
  mode?: "form";
  message: string;
  requestedSchema: ElicitSchema;
  _meta?: Meta;
}

/** Asks the user to do something at a web address. */
export interface ElicitUrlParams {
  mode: "url";
  message: string;
  url: string;
  /** Names the elicitation for a later notice of its completion; only in versions that have one. */
  elicitationId?: string;
  _meta?: Meta;
}

/** A question to the user. */
export type ElicitParams = ElicitFormParams | ElicitUrlParams;

/** What a user may enter in one field. */
export type ElicitValue = string | number | boolean | string[];

/** What the user did with a question. `content` comes with an accepted form. */
export interface ElicitResult {
  action: "accept" | "decline" | "cancel";
  content?: { [field: string]: ElicitValue };
  _meta?: Meta;
}
