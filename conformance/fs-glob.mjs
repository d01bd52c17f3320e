/**
 * Lets the conformance suite load on Node 20. It imports `globSync` from `fs`, which exists from Node 22 on, for a
 * command that is not used here. The hook gives the suite's own modules an `fs` with that name.
 */
import { register } from "node:module";

const fs = `
export * from "node:fs";
export { default } from "node:fs";
export function globSync() { throw new Error("fs.globSync needs Node 22"); }
`;

const hooks = `
const fs = ${JSON.stringify(`data:text/javascript,${encodeURIComponent(fs)}`)};
export async function resolve(specifier, context, next) {
  const isSuite = context.parentURL?.includes("/@modelcontextprotocol/conformance/");
  return specifier === "fs" && isSuite ? { url: fs, shortCircuit: true } : next(specifier, context);
}
`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
