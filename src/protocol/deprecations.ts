/** Deprecated feature of the protocol. */
export interface Deprecation {
  /** Stable identifier. */
  readonly code: string;
  /** Names the feature, the SEP that deprecates it, and the replacement. */
  readonly message: string;
}

type Warn = (message: string, fields: { readonly code: string }) => void;

/** Deprecated capabilities and their replacements. */
const CAPABILITIES = {
  roots: "pass folders in tool arguments, resource URIs or the server's configuration",
  sampling: "call the API of the model's provider",
  logging: "write to stderr, or use OpenTelemetry",
} as const;

export type DeprecatedFeature = keyof typeof CAPABILITIES;

const warned = new Set<string>();

/** Warns once per feature and process. Does nothing if `warn` is undefined. */
export function warnOnce({ code, message }: Deprecation, warn: Warn | undefined): void {
  if (warn === undefined || warned.has(code)) return;
  warned.add(code);
  warn(`${message}; set warnDeprecated: false to hide this`, { code });
}

/** Warns about one capability, as {@link warnOnce} does. */
export function warnOfDeprecated(feature: DeprecatedFeature, warn: Warn | undefined): void {
  const message = `${feature} is deprecated by MCP (SEP-2577): ${CAPABILITIES[feature]}`;
  warnOnce({ code: `deprecated_${feature}`, message }, warn);
}

/**
 * Emits a `DeprecationWarning` of the process, which users can silence. Does nothing on runtimes without
 * `process.emitWarning`.
 */
export const warnByProcess: Warn = (message, { code }) => {
  const { process } = globalThis as { process?: { emitWarning?(message: string, options: object): void } };
  process?.emitWarning?.(message, { type: "DeprecationWarning", code });
};
