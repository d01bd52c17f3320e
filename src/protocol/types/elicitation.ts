import type { Meta } from "./base.js";

/** Members that describe a field of a form. */
export interface FieldMetadata {
  title?: string;
  description?: string;
}

/** Text field. */
export interface StringSchema extends FieldMetadata {
  type: "string";
  minLength?: number;
  maxLength?: number;
  format?: "email" | "uri" | "date" | "date-time";
  default?: string;
}

/** Number field. */
export interface NumberSchema extends FieldMetadata {
  type: "number" | "integer";
  minimum?: number;
  maximum?: number;
  default?: number;
}

/** Boolean field. */
export interface BooleanSchema extends FieldMetadata {
  type: "boolean";
  default?: boolean;
}

/** Option of a selection field, with a label. */
export interface TitledOption {
  const: string;
  title: string;
}

/** Selection of one value. `enumNames` holds the labels in older protocol versions; prefer `oneOf`. */
export interface UntitledSingleSelectSchema extends FieldMetadata {
  type: "string";
  enum: string[];
  enumNames?: string[];
  default?: string;
}

/** Selection of one labelled value. */
export interface TitledSingleSelectSchema extends FieldMetadata {
  type: "string";
  oneOf: TitledOption[];
  default?: string;
}

/** Selection of any number of values. */
export interface UntitledMultiSelectSchema extends FieldMetadata {
  type: "array";
  items: { type: "string"; enum: string[] };
  minItems?: number;
  maxItems?: number;
  default?: string[];
}

/** Selection of any number of labelled values. */
export interface TitledMultiSelectSchema extends FieldMetadata {
  type: "array";
  items: { anyOf: TitledOption[] };
  minItems?: number;
  maxItems?: number;
  default?: string[];
}

/** Selection field in any of its forms. */
export type EnumSchema =
  | UntitledSingleSelectSchema
  | TitledSingleSelectSchema
  | UntitledMultiSelectSchema
  | TitledMultiSelectSchema;

/** Field of a form. */
export type PrimitiveSchema = StringSchema | NumberSchema | BooleanSchema | EnumSchema;

/** Form with one level of named fields. */
export interface ElicitSchema {
  $schema?: string;
  type: "object";
  properties: { [field: string]: PrimitiveSchema };
  required?: string[];
}

/** Parameters of an elicitation that asks the user to fill in a form. */
export interface ElicitFormParams {
  mode?: "form";
  message: string;
  requestedSchema: ElicitSchema;
  _meta?: Meta;
}

/** Parameters of an elicitation that asks the user to visit a URL. */
export interface ElicitUrlParams {
  mode: "url";
  message: string;
  url: string;
  /** Identifies the elicitation in `notifications/elicitation/complete`, in versions that have that notification. */
  elicitationId?: string;
  _meta?: Meta;
}

/** Parameters of an elicitation. */
export type ElicitParams = ElicitFormParams | ElicitUrlParams;

/** Value that a user can enter in a field. */
export type ElicitValue = string | number | boolean | string[];

/** Action of the user on an elicitation. `content` is present if a form was accepted. */
export interface ElicitResult {
  action: "accept" | "decline" | "cancel";
  content?: { [field: string]: ElicitValue };
  _meta?: Meta;
}
