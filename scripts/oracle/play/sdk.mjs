import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Names of the SDK's exports. This is the only file that has them. A public name that changes is listed with all its
 * spellings, the newest first; each build has one of them.
 */
const SURFACE = {
  server: {
    McpServer: ["McpServer"],
    ServerExtension: ["ServerExtension"],
    ToolError: ["ToolError"],
    RpcError: ["RpcError"],
    UrlElicitationRequiredError: ["UrlElicitationRequiredError"],
    text: ["text"],
    image: ["image"],
    audio: ["audio"],
    link: ["link"],
    embedded: ["embedded"],
    toolResult: ["toolResult"],
    inputRequired: ["inputRequired"],
    resourceNotFound: ["resourceNotFound"],
  },
  "server-modern": { ModernMcpServer: ["McpServer"] },
  "json-schema": { jsonSchemaValidator: ["jsonSchemaValidator"] },
  "auth-server": { protect: ["protect"], InvalidTokenError: ["InvalidTokenError"] },
  client: { connect: ["connect"], retry: ["retry"] },
  node: { serveHttp: ["serveHttp"], createStdioServerChannel: ["createStdioServerChannel"] },
  testing: {
    createArrayExchange: ["createArrayExchange"],
    createChannelPair: ["createChannelPair"],
    FakeClock: ["FakeClock"],
  },
};

/**
 * Loads the public entries of a build.
 * @param {string} dist folder that contains `entry/`
 * @returns {Promise<Record<string, any>>}
 */
export async function loadSdk(dist) {
  const sdk = {};
  for (const [entry, names] of Object.entries(SURFACE)) {
    const module = await import(pathToFileURL(join(dist, "entry", `${entry}.js`)).href);
    for (const [name, spellings] of Object.entries(names)) {
      const found = spellings.find((spelling) => spelling in module);
      if (found === undefined) throw new Error(`entry/${entry}.js of ${dist} exports none of ${spellings.join(", ")}`);
      sdk[name] = module[found];
    }
  }
  await loadLateParts(dist);
  return sdk;
}

/** Loads every file of a build, so that no scenario waits for a file that is loaded on demand. */
async function loadLateParts(dist) {
  const files = readdirSync(dist, { recursive: true }).filter((file) => file.endsWith(".js"));
  await Promise.all(files.sort().map((file) => import(pathToFileURL(join(dist, file)).href)));
}
