/** Features of the protocol that are on their way out, and what to use instead. */
const FEATURES = {
  roots: "pass folders in tool arguments, resource URIs or the server's configuration",
  sampling: "call the provider of the model",
  logging: "write to stderr, or use OpenTelemetry",
} as const;

export type DeprecatedFeature = keyof typeof FEATURES;

const warned = new Set<DeprecatedFeature>();

/** Tells a developer once per feature and process. `warn` is undefined where nobody wants to know. */
export function warnOfDeprecated(
  feature: DeprecatedFeature,
  warn: ((message: string, fields: Record<string, unknown>) => void) | undefined,
): void {
  if (warn === undefined || warned.has(feature)) return;
  warned.add(feature);
  warn(`${feature} is deprecated by SEP-2577: ${FEATURES[feature]}`, { code: `deprecated_${feature}` });
}
