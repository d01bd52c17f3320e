import { MODERN } from "./requests.mjs";

/** Messages of scripted servers. */

const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {},
};
const SERVER = { name: "scripted", version: "1.0.0" };

export const discovered = (more) => ({
  resultType: "complete",
  supportedVersions: [MODERN],
  capabilities: CAPABILITIES,
  serverInfo: SERVER,
  instructions: "Be brief.",
  ttlMs: 0,
  cacheScope: "private",
  ...more,
});
export const initialized = (version, more) => ({
  protocolVersion: version,
  capabilities: CAPABILITIES,
  serverInfo: SERVER,
  ...more,
});
/** Returns a result in the form of the world's era. */
export const complete = ({ isModern }, result) => (isModern ? { resultType: "complete", ...result } : result);
export const said = (world, text) => complete(world, { content: [{ type: "text", text }] });

/** Returns the rules by which a server of the world responds to a connecting client. */
export function openingOf({ isModern, version }) {
  if (isModern) return [{ on: "server/discover", reply: { result: discovered() } }];
  const unknown = { code: -32_601, message: "Method not found" };
  return [
    { on: "server/discover", reply: { status: 400, error: unknown } },
    { on: "initialize", reply: { result: initialized(version), headers: { "mcp-session-id": "s-1" } } },
  ];
}

/** Returns a script against a server of the world. Its own rules come before those of the opening. */
export const script = (world, name, rules, steps, more) => ({
  name: `${world.wire} ${world.version} ${name}`,
  wire: world.wire,
  rules: [...rules, ...openingOf(world)],
  steps,
  ...more,
});

export const CALL = { call: "callTool", args: ["echo", { text: "t" }], options: { onProgress: true } };
