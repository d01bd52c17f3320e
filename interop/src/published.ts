import { deepEqual, equal, ok } from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Answers } from "./driver.js";
import { type PeerName, programOf } from "./fetched.js";
import { type Checks, drive, type Neighbour, startsOf } from "./neighbours.js";

/** Published server, which is fetched. Its checks use no network. */
interface Published {
  readonly name: PeerName;
  readonly args: readonly string[];
  /** Environment of a server that has a folder of its own. */
  env(folder: string): Record<string, string>;
  /** Checks that hold for the server as published and on `bowline/compat`. */
  checks(folder: string): Checks;
}

const ANSWERS: Answers = { elicit: () => ({ action: "decline" }), sample: () => "", roots: [] };

const SERVERS: readonly Published[] = [
  {
    // Registers capabilities after it was created, and tells of changes of a resource.
    name: "memory",
    args: [],
    env: (folder) => ({ MEMORY_FILE_PATH: join(folder, "memory.jsonl") }),
    checks: () => ({
      list: async (driver) => {
        ok((await driver.listTools()).includes("create_entities"));
        deepEqual(await driver.listResources(), ["memory://knowledge-graph"]);
      },
      structured: async (driver) => {
        const entities = [{ name: "Oslo", entityType: "port", observations: ["cold"] }];
        await driver.callTool("create_entities", { entities });
        deepEqual((await driver.callTool("search_nodes", { query: "cold" })).structured, { entities, relations: [] });
      },
      "bad input": async (driver) => equal((await driver.callTool("search_nodes", { query: 1 })).isError, true),
      resource: async (driver) => ok((await driver.readResource("memory://knowledge-graph")).includes("Oslo")),
      subscription: async (driver) => {
        const watch = await driver.watchResource?.("memory://knowledge-graph");
        await driver.callTool("delete_entities", { entityNames: ["Oslo"] });
        await watch?.changed;
        await watch?.close();
      },
    }),
  },
  {
    // Describes its tool by a shape of zod 3.
    name: "eslint",
    args: [],
    env: () => ({}),
    checks: (folder) => ({
      list: async (driver) => deepEqual(await driver.listTools(), ["lint-files"]),
      plain: async (driver) => {
        const file = join(folder, "rope.js");
        writeFileSync(join(folder, "eslint.config.mjs"), 'export default [{ rules: { "no-var": "error" } }];');
        writeFileSync(file, "var rope = 1;");
        const { text } = await driver.callTool("lint-files", { filePaths: [file] });
        ok(text.includes('"ruleId":"no-var"'), text);
      },
      "bad input": async (driver) => equal((await driver.callTool("lint-files", { filePaths: [] })).isError, true),
    }),
  },
  {
    // Has many tools, resources and prompts.
    name: "mapbox",
    args: [],
    // A token of Mapbox has the account in its second part. It is not sent anywhere.
    env: () => ({ MAPBOX_ACCESS_TOKEN: `pk.${Buffer.from('{"u":"interop"}').toString("base64url")}.none` }),
    checks: () => ({
      list: async (driver) => {
        ok((await driver.listTools()).includes("distance_tool"));
        ok((await driver.listResources()).length > 0);
        ok((await driver.listPrompts()).length > 0);
      },
      structured: async (driver) => {
        const from = { longitude: 10, latitude: 60 };
        const { structured } = await driver.callTool("distance_tool", { from, to: from, units: "kilometers" });
        equal((structured as { distance: unknown }).distance, 0);
      },
      "bad input": async (driver) => equal((await driver.callTool("distance_tool", { from: 1 })).isError, true),
    }),
  },
  {
    // Describes its tools by objects of zod 3.
    name: "figma",
    args: ["--stdio"],
    env: (folder) => ({ FIGMA_API_KEY: "none", IMAGE_DIR: folder, DO_NOT_TRACK: "1" }),
    checks: () => ({
      list: async (driver) => ok((await driver.listTools()).includes("get_figma_data")),
      "bad input": async (driver) => {
        const refused = await driver.callTool("get_figma_data", { fileKey: "no key" });
        equal(refused.isError, true);
        ok(refused.text.includes("fileKey"), refused.text);
      },
    }),
  },
];

export const published: readonly Neighbour[] = SERVERS.flatMap((server) =>
  startsOf(server.name).map(({ pair, flags, choice, version }) => ({
    pair,
    needs: () => programOf(server.name),
    async run() {
      const { node, file } = await programOf(server.name);
      const folder = realpathSync(mkdtempSync(join(tmpdir(), "interop-")));
      const args = [...flags, file, ...server.args];
      const target = { wire: "stdio", command: node, args, env: server.env(folder) } as const;
      try {
        return await drive(pair, target, ANSWERS, choice, {
          version: async (driver) => equal(driver.version, version),
          ...server.checks(folder),
        });
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  })),
);
