import type { ResolveHook } from "node:module";

const own = new URL("./", import.meta.url).href;
const server = new URL("server.js", own).href;

/** Replaces `bowline/server` by two nodes, except for the files of this folder. */
export const resolve: ResolveHook = (specifier, context, next) => {
  const isTest = context.parentURL?.startsWith(new URL("../../", own).href) === true;
  if (specifier === "bowline/server" && isTest && context.parentURL?.startsWith(own) === false)
    return { url: server, shortCircuit: true };
  return next(specifier, context);
};
