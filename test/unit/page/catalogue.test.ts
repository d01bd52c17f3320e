import { deepEqual, ok } from "node:assert/strict";
import { describe, it } from "node:test";
import { Recording } from "bowline/testing";
import { catalogueOf } from "#src/page/model/catalogue.js";
import { skillsOf } from "#src/page/model/skills.js";
import { RECORDED_WIRES } from "../../support/recorded-wires.js";
import { record, runOf } from "./recorded.js";

/** Records answers to requests, as `[method, params, result]`. */
function lists(...told: readonly (readonly [string, object, object])[]): Recording {
  const recording = new Recording();
  const connection = recording.connection({ wire: "memory", role: "client" });
  for (const [index, [method, params, result]] of told.entries()) {
    connection.frame(">", JSON.stringify({ jsonrpc: "2.0", id: index, method, params }));
    connection.frame("<", JSON.stringify({ jsonrpc: "2.0", id: index, result }));
  }
  return recording;
}

const tool = (name: string) => ({ name, inputSchema: { type: "object" } });

describe("the catalogue", () => {
  for (const wire of RECORDED_WIRES)
    it(`has what was listed over ${wire.name}, with tokens`, async () => {
      const items = catalogueOf(await record(wire, (client) => client.listTools()));
      deepEqual(
        items.map(({ kind, name }) => `${kind} ${name}`),
        ["tool moor", "tool cast-off", "tool sound-the-horn", "tool run-aground"],
      );
      ok(items.every(({ tokens }) => tokens !== undefined && tokens > 10 && tokens < 100));
      deepEqual(items[0]?.schema.required, ["ship"]);
    });

  it("joins pages, and replaces what is listed again", () => {
    const first = ["tools/list", {}, { tools: [tool("a"), tool("gone")], nextCursor: "2" }] as const;
    const second = ["tools/list", { cursor: "2" }, { tools: [tool("b")] }] as const;
    const names = (recording: Recording) => catalogueOf(runOf(recording)).map(({ name }) => name);
    deepEqual(names(lists(first, second)), ["a", "gone", "b"]);
    deepEqual(names(lists(first, second, ["tools/list", {}, { tools: [tool("a")] }])), ["a"]);
  });

  it("has the arguments of prompts and templates as fields", () => {
    const prompts = {
      prompts: [
        {
          name: "log",
          arguments: [
            { name: "ship", required: true },
            { name: "port", description: "Where" },
          ],
        },
      ],
    };
    const resourceTemplates = [{ name: "berth", uriTemplate: "berth://{port}/{+path}{?depth,side*}" }];
    const items = catalogueOf(
      runOf(lists(["prompts/list", {}, prompts], ["resources/templates/list", {}, { resourceTemplates }])),
    );
    const [prompt, template] = items.map(({ schema }) => schema as { properties: object; required: readonly string[] });
    deepEqual([Object.keys(prompt?.properties ?? {}), prompt?.required], [["ship", "port"], ["ship"]]);
    deepEqual(template?.required, ["port", "path", "depth", "side"]);
  });

  it("puts findings beside the item that they name, and no other", () => {
    const recording = lists(["tools/list", {}, { tools: [tool("moor"), tool("moor-all"), tool("off")] }]);
    recording.add({ k: "verdict", rule: "catalogue/hints", level: "warning", text: "the tool moor has no hint" });
    recording.add({ k: "verdict", rule: "catalogue/size", level: "note", text: "offset is no tool" });
    const found = catalogueOf(runOf(recording)).map(({ name, verdicts }) => [name, verdicts.map(({ rule }) => rule)]);
    deepEqual(found, [
      ["moor", ["catalogue/hints"]],
      ["moor-all", []],
      ["off", []],
    ]);
  });

  it("survives lists that are none", () => {
    const strange = [{ tools: 7 }, { tools: [null, 1, "a", {}] }, { tools: [{ name: 4, inputSchema: "none" }] }];
    for (const result of strange) ok(Array.isArray(catalogueOf(runOf(lists(["tools/list", {}, result])))));
  });

  it("has skills with their files", () => {
    const frontmatter = { name: "knots", description: "Ties knots" };
    const file = { uri: "skill://harbour/knots/SKILL.md", digest: "sha256:0", size: 12 };
    const more = { uri: "skill://harbour/knots/scripts/tie.sh", digest: "sha256:1", size: 7 };
    const listed = {
      skills: [
        { uri: file.uri, frontmatter, resources: [file, more] },
        { uri: "skill://x/SKILL.md", resources: "dynamic" },
      ],
    };
    const skills = skillsOf(runOf(lists(["skills/list", {}, listed])));
    deepEqual(
      skills.map(({ name, description, files }) => [name, description, files?.map(({ path }) => path)]),
      [
        ["knots", "Ties knots", ["SKILL.md", "scripts/tie.sh"]],
        ["skill://x/SKILL.md", undefined, undefined],
      ],
    );
    deepEqual(skillsOf(runOf(lists(["tools/list", {}, listed]))), []);
  });
});
