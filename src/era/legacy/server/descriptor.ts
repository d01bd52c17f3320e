import { HANDSHAKE_VERSIONS } from "../../versions.js";

const METHODS: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "logging/setLevel",
  "tools/list",
  "tools/call",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "resources/subscribe",
  "resources/unsubscribe",
  "completion/complete",
  "sampling/createMessage",
  "elicitation/create",
  "roots/list",
]);

/** What is known of the era before it is spoken. It takes whatever no other era claims, so it stands last. */
export const legacyDescriptor = {
  name: "legacy",
  versions: HANDSHAKE_VERSIONS,
  claims: () => true,
  specifies: (method: string) => METHODS.has(method),
};
