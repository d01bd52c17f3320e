import { deepEqual, equal, rejects } from "node:assert/strict";
import { type Caller, McpServer } from "bowline/server";
import { type AnySkill, type Skill, skillFiles, skills } from "bowline/skills/server";
import { eachWire, type RecordedClient } from "../../support/each-wire.js";
import { guardedHttp } from "../../support/guarded.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

function skillText(name: string): string {
  return `---\nname: ${name}\ndescription: Does ${name}\n---\nDo it.\n`;
}

const isAdmin = (caller: Caller) => caller.client.info?.name === "admin";
const admin = { info: { name: "admin", version: "1" } };

/** Everything that a client finds of a skill: in both lists, by get, by reading a file and its directory. */
async function traces(client: RecordedClient, root: string): Promise<readonly boolean[]> {
  const uri = `${root}/SKILL.md`;
  const found = (call: Promise<unknown>) =>
    call.then(
      () => true,
      (error: { rpcCode?: number }) => {
        equal([-32602, -32002].includes(error.rpcCode ?? 0), true, String(error));
        return false;
      },
    );
  const { skills: entries } = await client.request("skills/list");
  return [
    (entries as readonly Skill[]).some((entry) => entry.uri === uri),
    (await client.resources().all()).some((resource) => resource.uri === uri),
    await found(client.request("skills/get", { uri })),
    await found(client.readResource(`${root}/x.md`)),
    await found(client.request("resources/directory/read", { uri: root })),
  ];
}

const ALL = [true, true, true, true, true];
const NOTHING = [false, false, false, false, false];

verifies(
  "skills:list:per-caller",
  "visible is asked for list, get, read and directory",
  eachWire,
  async ({ connect }) => {
    const files = skillFiles({
      "open/SKILL.md": skillText("open"),
      "open/x.md": "x",
      "secret/SKILL.md": skillText("secret"),
      "secret/x.md": "x",
    });
    const coded: AnySkill = {
      frontmatter: { name: "coded", description: "c" },
      body: "",
      files: { "x.md": "x" },
      visible: isAdmin,
    };
    const live: AnySkill = {
      frontmatter: { name: "live", description: "c" },
      visible: async (ctx) => isAdmin(ctx),
      read: (path) => (path === "x.md" ? "x" : ""),
    };
    const access = ({ frontmatter }: Skill) => (frontmatter.name === "secret" ? { visible: isAdmin } : undefined);
    const server = new McpServer(me).extend(skills([files, coded, live], { access, cache: { scope: "public" } }));
    const root = await connect(server, admin);
    const user = await connect(server);
    for (const name of ["open", "secret", "coded", "live"]) {
      deepEqual(await traces(root, `skill://${name}`), ALL, name);
      deepEqual(await traces(user, `skill://${name}`), name === "open" ? ALL : NOTHING, name);
    }
    const { cacheScope } = await user.request("skills/list");
    equal(cacheScope, user.era === "modern" ? "private" : undefined, "a result of one caller is not for others");
  },
);

verifies("skills:list:per-caller", "a function returns the skills of a caller", eachWire, async ({ connect }) => {
  const shared: AnySkill = { frontmatter: { name: "shared", description: "s" }, body: "", files: { "x.md": "x" } };
  const own: AnySkill = { frontmatter: { name: "own", description: "o" }, body: "", files: { "x.md": "x" } };
  let asked = 0;
  const source = async (ctx: Caller) => {
    asked++;
    return isAdmin(ctx) ? [own] : [];
  };
  const server = new McpServer(me).extend(skills([shared, source]));
  const root = await connect(server, admin);
  const user = await connect(server);
  deepEqual(await traces(root, "skill://own"), ALL);
  deepEqual(await traces(user, "skill://own"), NOTHING);
  deepEqual(await traces(user, "skill://shared"), ALL);
  asked = 0;
  await root.readResource("skill://own/x.md");
  equal(asked, 1, "once per request");
});

verifies(
  "skills:list:per-caller",
  "a nested skill that is hidden stays part of the one around it",
  eachWire,
  async ({ connect }) => {
    const files = skillFiles({
      "outer/SKILL.md": skillText("outer"),
      "outer/inner/SKILL.md": skillText("inner"),
      "outer/inner/x.md": "x",
    });
    const access = ({ frontmatter }: Skill) => (frontmatter.name === "inner" ? { visible: () => false } : undefined);
    const client = await connect(new McpServer(me).extend(skills(files, { access })));
    const { skills: entries } = await client.request("skills/list");
    deepEqual(
      (entries as readonly Skill[]).map(({ frontmatter }) => frontmatter.name),
      ["outer"],
    );
    await client.readResource("skill://outer/inner/x.md");
    await rejects(client.request("skills/get", { uri: "skill://outer/inner/SKILL.md" }), { rpcCode: -32602 });
  },
);

verifies("skills:list:per-caller", "requires tells the scopes that are missing", guardedHttp, async (world) => {
  world.tokens.set("poor", { scopes: ["a"] });
  world.tokens.set("rich", { scopes: ["a", "b"] });
  const files = skillFiles({ "closed/SKILL.md": skillText("closed"), "closed/x.md": "x" });
  const access = () => ({ requires: { scopes: ["b"] } });
  const extension = skills(files, { access });
  await extension.reload();
  const guarded = await world.guard({ protect: { scopes: ["a"] }, define: (server) => server.extend(extension) });
  const poor = await guarded.client(() => "Bearer poor");
  const { skills: seen } = await poor.request("skills/list");
  equal((seen as readonly unknown[]).length, 1, "with step-up authorization, a caller sees the skill");
  for (const [method, uri] of [
    ["skills/get", "skill://closed/SKILL.md"],
    ["resources/read", "skill://closed/x.md"],
    ["resources/directory/read", "skill://closed"],
  ] as const) {
    await rejects(poor.request(method, { uri }), { status: 403 }, method);
    const rich = await guarded.client(() => "Bearer rich");
    await rich.request(method, { uri });
  }
});

verifies("skills:list:per-caller", "a nested skill needs its own scopes only", guardedHttp, async (world) => {
  world.tokens.set("inner", { scopes: ["a", "inner"] });
  const files = skillFiles({
    "outer/SKILL.md": skillText("outer"),
    "outer/x.md": "x",
    "outer/inner/SKILL.md": skillText("inner"),
    "outer/inner/x.md": "x",
  });
  const access = ({ frontmatter }: Skill) => ({ requires: { scopes: ["a", frontmatter.name] } });
  const extension = skills(files, { access });
  await extension.reload();
  const guarded = await world.guard({ protect: { scopes: ["a"] }, define: (server) => server.extend(extension) });
  const client = await guarded.client(() => "Bearer inner");
  await client.request("skills/get", { uri: "skill://outer/inner/SKILL.md" });
  await client.readResource("skill://outer/inner/x.md");
  await client.request("resources/directory/read", { uri: "skill://outer/inner" });
  await rejects(client.readResource("skill://outer/x.md"), { status: 403 });
});

verifies("skills:list:per-caller", "access rules get the URI of their skill", eachWire, async ({ connect }) => {
  const asked = new Set<string>();
  const visible = (_: Caller, uri: string) => {
    asked.add(uri);
    return true;
  };
  const coded: AnySkill = {
    frontmatter: { name: "coded", description: "c" },
    body: "",
    files: { "x.md": "x" },
    visible,
  };
  const files = skillFiles({ "filed/SKILL.md": skillText("filed"), "filed/x.md": "x" });
  const client = await connect(new McpServer(me).extend(skills([files, coded], { access: () => ({ visible }) })));
  deepEqual(await traces(client, "skill://coded"), ALL);
  deepEqual(await traces(client, "skill://filed"), ALL);
  deepEqual([...asked].sort(), ["skill://coded/SKILL.md", "skill://filed/SKILL.md"]);
});
