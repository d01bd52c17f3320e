const REPLACED = new Set(["mcp", "stdio", "completable"].map((name) => `@modelcontextprotocol/sdk/server/${name}.js`));

/** Resolves the modules of the official SDK that `bowline/compat` replaces. */
export function resolve(specifier, context, next) {
  if (!REPLACED.has(specifier)) return next(specifier, context);
  return next("bowline/compat", { ...context, parentURL: import.meta.url });
}
