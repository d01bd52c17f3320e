import { ACCESS_OPTIONS } from "./access.js";

/** Description of the options that tools, prompts and resources share. */
export const LISTED_OPTIONS = {
  ...ACCESS_OPTIONS,
  title: "string",
  description: "string",
  icons: "array",
  meta: "object",
} as const;
