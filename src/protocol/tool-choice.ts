import type { CreateMessageParams } from "./types/index.js";

/** Whether the model may, must or must not use tools; what is left open means that it may. */
export function toolChoiceOf(params: CreateMessageParams): "auto" | "required" | "none" {
  return params.toolChoice?.mode ?? "auto";
}
