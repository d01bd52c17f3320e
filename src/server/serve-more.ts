/** What not every server is asked for: loaded by those that are, as one. */
export { completeArgument } from "./complete-argument.js";
export { receive } from "./receive.js";
export { runCustom } from "./run-custom.js";
export { getPrompt } from "./serve-prompts.js";
export { listResources, readResource, seesResource } from "./serve-resources.js";
