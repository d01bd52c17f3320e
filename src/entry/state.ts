export type { CallerState } from "../state/caller-state.js";
export { defineState, type StateDefinition, type StateOptions } from "../state/definition.js";
