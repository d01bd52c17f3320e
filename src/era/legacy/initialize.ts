import type { Implementation } from "../../protocol/types/index.js";

/** First version of each capability that the SDK declares and 2024-11-05 does not define. */
const CAPABILITIES_SINCE: readonly (readonly [name: string, version: string])[] = [
  ["completions", "2025-03-26"],
  ["elicitation", "2025-06-18"],
  ["tasks", "2025-11-25"],
];

/** Removes the capabilities that this version does not define. Capabilities that the SDK does not know are kept. */
export function capabilitiesAt<Capabilities extends object>(version: string, capabilities: Capabilities): Capabilities {
  const unknown = CAPABILITIES_SINCE.filter(([name, since]) => version < since && name in capabilities);
  if (unknown.length === 0) return capabilities;
  return Object.fromEntries(
    Object.entries(capabilities).filter(([name]) => !unknown.some(([other]) => other === name)),
  ) as Capabilities;
}

/** Removes the members of an `Implementation` that this version does not define. */
export function identityAt(version: string, info: Implementation): Implementation {
  if (version >= "2025-11-25") return info;
  const { name, title } = info;
  const known: Implementation = { name, version: info.version };
  if (version >= "2025-06-18" && title !== undefined) known.title = title;
  return known;
}
