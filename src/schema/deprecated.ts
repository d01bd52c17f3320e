interface Deprecation {
  readonly by: string;
  readonly instead: string;
}

/** Features of the protocol that are on their way out, by what, and what to use instead. */
const FEATURES = {
  roots: { by: "SEP-2577", instead: "pass folders in tool arguments, resource URIs or the server's configuration" },
  sampling: { by: "SEP-2577", instead: "call the provider of the model" },
  logging: { by: "SEP-2577", instead: "write to stderr, or use OpenTelemetry" },
  include_context: { by: "SEP-2596", instead: 'leave includeContext out, or use "none"' },
  http_sse: { by: "SEP-2596", instead: "use Streamable HTTP" },
  client_registration: { by: "PR 2858", instead: "use a client metadata document (clientMetadataUrl)" },
} as const satisfies Readonly<Record<string, Deprecation>>;

export type DeprecatedFeature = keyof typeof FEATURES;

type Warn = (message: string, fields: { readonly code: string }) => void;

const warned = new Set<DeprecatedFeature>();

/** Tells a developer once per feature and process. `warn` is undefined where nobody wants to know. */
export function warnOfDeprecated(feature: DeprecatedFeature, warn: Warn | undefined): void {
  if (warn === undefined || warned.has(feature)) return;
  warned.add(feature);
  const { by, instead } = FEATURES[feature];
  warn(`${feature.replaceAll("_", " ")} is deprecated by ${by}: ${instead}`, { code: `deprecated_${feature}` });
}

/** The way of the runtime to warn of what is deprecated, which its user can silence; nothing where it has none. */
export const warnByProcess: Warn = (message, { code }) => {
  const { process } = globalThis as { process?: { emitWarning?(message: string, options: object): void } };
  process?.emitWarning?.(message, { type: "DeprecationWarning", code });
};
