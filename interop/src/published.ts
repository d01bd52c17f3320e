import { deepEqual, equal, ok } from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Answers } from "./driver.js";
import { programIn } from "./fetched.js";
import { type Checks, drive, type Neighbour, startsOf } from "./neighbours.js";
import { prepare, publishedServer } from "./published-servers.js";

/** Checks of a server of `published.json`, which use no network. */
interface Published {
  readonly name: string;
  /** Checks that hold for the server as published and on `bowline/compat`. */
  checks(folder: string): Checks;
}

const ANSWERS: Answers = { elicit: () => ({ action: "decline" }), sample: () => "", roots: [] };

const SERVERS: readonly Published[] = [
  {
    // Registers capabilities after it was created, and tells of changes of a resource.
    name: "memory",
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

export const published: readonly Neighbour[] = SERVERS.flatMap(({ name, checks }) =>
  startsOf(name).map(({ pair, flags, choice, version }) => ({
    pair,
    needs: () => programIn(publishedServer(name).package, publishedServer(name).file),
    async run() {
      const folder = realpathSync(mkdtempSync(join(tmpdir(), "interop-")));
      try {
        const { command, args, env } = await prepare(publishedServer(name), folder);
        return await drive(pair, { wire: "stdio", command, args: [...flags, ...args], env }, ANSWERS, choice, {
          version: async (driver) => equal(driver.version, version),
          ...checks(folder),
        });
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  })),
);
