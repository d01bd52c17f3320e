/** What not every server is asked for: loaded by those that are, as one. */
export { completeArgument } from "./definitions/complete.js";
export { getPrompt } from "./definitions/prompts.js";
export { listResources, readResource, seesResource } from "./definitions/resources.js";
export { runCustom } from "./definitions/run-custom.js";
export { receive } from "./notifications.js";
