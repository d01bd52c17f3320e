/** A feature of the protocol that is on its way out. */
export interface Deprecation {
  /** Stable, to be told apart by. */
  readonly code: string;
  /** What it is, by what it is deprecated, and what to use instead. */
  readonly message: string;
}

type Warn = (message: string, fields: { readonly code: string }) => void;

/** Capabilities that are on their way out, and what to use instead. */
const CAPABILITIES = {
  roots: "pass folders in tool arguments, resource URIs or the server's configuration",
  sampling: "call the provider of the model",
  logging: "write to stderr, or use OpenTelemetry",
} as const;

const warned = new Set<string>();

/** Tells a developer once per feature and process. `warn` is undefined where nobody wants to know. */
export function warnOnce({ code, message }: Deprecation, warn: Warn | undefined): void {
  if (warn === undefined || warned.has(code)) return;
  warned.add(code);
  warn(message, { code });
}

/** As `warnOnce`, of a capability. */
export function warnOfDeprecated(feature: keyof typeof CAPABILITIES, warn: Warn | undefined): void {
  const message = `${feature} is deprecated by SEP-2577: ${CAPABILITIES[feature]}`;
  warnOnce({ code: `deprecated_${feature}`, message }, warn);
}

/** As `warnOnce`, of the capabilities that a client or a server has. */
export function warnOfUsed(used: { readonly [feature in keyof typeof CAPABILITIES]?: unknown }, warn: Warn): void {
  for (const feature of ["roots", "sampling", "logging"] as const)
    if (used[feature] !== undefined) warnOfDeprecated(feature, warn);
}

/** The way of the runtime to warn of what is deprecated, which its user can silence; nothing where it has none. */
export const warnByProcess: Warn = (message, { code }) => {
  const { process } = globalThis as { process?: { emitWarning?(message: string, options: object): void } };
  process?.emitWarning?.(message, { type: "DeprecationWarning", code });
};
