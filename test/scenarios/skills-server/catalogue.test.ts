import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { McpServer, type ServerOptions } from "bowline/server";
import {
  type AnySkill,
  type Skill,
  type SkillFiles,
  type SkillSource,
  type SkillsOptions,
  skillFiles,
  skills,
} from "bowline/skills/server";
import { eachWire, type RecordedClient } from "../../support/each-wire.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

function skillText(name: string, more = ""): string {
  return `---\nname: ${name}\ndescription: Does ${name}\n${more}---\nDo it.\n`;
}

function serve(source: SkillSource | readonly SkillSource[], options?: SkillsOptions, rest?: ServerOptions): McpServer {
  return new McpServer(me, rest).extend(skills(source, options));
}

async function names(client: RecordedClient): Promise<readonly string[]> {
  const { skills: found } = await client.request("skills/list");
  return (found as readonly Skill[]).map(({ frontmatter }) => frontmatter.name);
}

verifies(["skills:format:skill-md", "skills:format:name-rules"], eachWire, async ({ connect }) => {
  const warnings: string[] = [];
  const long = "a".repeat(65);
  const files = skillFiles({
    "good/SKILL.md": skillText("good"),
    "plain/SKILL.md": "# No frontmatter\n",
    "open/SKILL.md": "---\nname: open\ndescription: x\n",
    "broken/SKILL.md": "---\nname: broken\ndescription: [x\n---\n",
    "twice/SKILL.md": "---\nname: twice\nname: twice\ndescription: x\n---\n",
    "nameless/SKILL.md": "---\ndescription: x\n---\n",
    "silent/SKILL.md": "---\nname: silent\n---\n",
    "other/SKILL.md": skillText("another"),
    "Upper/SKILL.md": skillText("Upper"),
    "-dash/SKILL.md": skillText("-dash"),
    "two--dashes/SKILL.md": skillText("two--dashes"),
    [`${long}/SKILL.md`]: skillText(long),
    "binary/SKILL.md": Buffer.from([0x2d, 0xff]),
    "typed/SKILL.md": skillText("typed", "metadata: {version: 2}\n"),
    "infinite/SKILL.md": skillText("infinite", "x: .inf\n"),
  });
  const server = serve(files, {}, { logger: { warn: (message) => warnings.push(message) } });
  const client = await connect(server);
  deepEqual(await names(client), ["good"]);
  const expected: readonly (readonly [path: string, text: RegExp])[] = [
    ["plain", /line 1: must begin with YAML frontmatter/],
    ["open", /no line --- at its end/],
    ["broken", /line 4, column 1/],
    ["twice", /line 3, column 1: the key "name" is there twice/],
    ["nameless", /name is missing/],
    ["silent", /description is missing/],
    ["other", /name in the frontmatter is "another", but the folder is "other"/],
    ["Upper", /lowercase letters, digits and single hyphens/],
    ["-dash", /lowercase letters, digits and single hyphens/],
    ["two--dashes", /lowercase letters, digits and single hyphens/],
    [long, /65 characters; at most 64/],
    ["binary", /not UTF-8/],
    ["typed", /metadata in the frontmatter must be a map of strings/],
    ["infinite", /x is Infinity/],
  ];
  equal(warnings.length, expected.length);
  for (const [path, text] of expected) {
    const warning = warnings.find((one) => one.includes(`${path}/SKILL.md: `));
    ok(warning !== undefined && text.test(warning), `${path}: ${warning}`);
    await rejects(client.request("skills/get", { uri: `skill://${path}/SKILL.md` }), { rpcCode: -32602 });
  }
});

proves("skills:format:skill-md", {}, "a skill in code is refused when it is defined, with its name", () => {
  const good = { frontmatter: { name: "good", description: "x" }, body: "y" };
  const refusals: readonly (readonly [skill: unknown, text: RegExp])[] = [
    [{ ...good, frontmatter: { name: "good" } }, /skill "good": the frontmatter is invalid: description is missing/],
    [{ ...good, path: "a/bad" }, /skill "a\/bad": the name in the frontmatter is "good"/],
    [{ ...good, path: "../good" }, /path "..\/good" must be relative/],
    [{ ...good, files: { "a\\b": "" } }, /path "a\\\\b" must be relative/],
    [{ ...good, files: { "SKILL.md": "" } }, /SKILL.md is made of frontmatter and body/],
    [{ frontmatter: good.frontmatter }, /body must be a string/],
    ["folder", /a source must be a folder \(skillFolder\), a skill, or a function/],
  ];
  for (const [skill, text] of refusals) throws(() => skills(skill as AnySkill), text);
  throws(() => skills(good, { scheme: "a b" }), /scheme must be a URI scheme, got "a b"/);
  throws(() => skills(good, { prefix: "/a" }), /prefix must be a path such as "acme\/billing", got "\/a"/);
  throws(() => skills(good, { pageSize: 0 }), /pageSize must be a whole number of 1 or more/);
  throws(() => skills(good, { strickt: true } as SkillsOptions), /unknown option strickt; did you mean strict/);
});

verifies(["skills:entry:limits", "skills:entry:names-unique"], eachWire, async ({ connect }) => {
  const many = Object.fromEntries(Array.from({ length: 512 }, (_, index) => [`many/f${index}.txt`, "x"]));
  const files = skillFiles({
    ...many,
    "many/SKILL.md": skillText("many"),
    "large/SKILL.md": skillText("large"),
    "large/data.bin": new Uint8Array(16_777_216),
    "a/same/SKILL.md": skillText("same"),
    "b/same/SKILL.md": skillText("same"),
  });
  const problems: string[] = [];
  const onProblem = ({ path, message }: { path: string; message: string }) => problems.push(`${path}: ${message}`);
  deepEqual(await names(await connect(serve(files, { onProblem }))), ["same", "same", "large", "many"]);
  equal(problems.length, 3);
  ok(
    /^large: the skill has 167772\d\d bytes, more than 16777216; .*limits.maxBytes$/.test(problems[0] ?? ""),
    problems[0],
  );
  ok(/^many: the skill has 513 files, more than 512; .*limits.maxFiles$/.test(problems[1] ?? ""), problems[1]);
  ok(/^skill:\/\/b\/same\/SKILL.md: the skill skill:\/\/a\/same\/SKILL.md has the same name/.test(problems[2] ?? ""));
  const strict = skills(files, { strict: true });
  await rejects(strict.reload(), (error: { code?: string; problems?: readonly string[] }) => {
    equal(error.code, "invalid_skill");
    equal(error.problems?.length, 3);
    return true;
  });
  const raised = skills(files, { limits: { maxFiles: 513, maxBytes: 20_000_000 } });
  await raised.reload();
  equal(raised.problems.length, 1);
});

verifies(["skills:list:result", "skills:list:pages"], eachWire, async ({ connect, era }) => {
  const all = Object.fromEntries(
    ["a", "b", "c", "d", "e"].flatMap((name) => [
      [`${name}/SKILL.md`, skillText(name)],
      [`${name}/x.md`, "x"],
    ]),
  );
  const client = await connect(serve(skillFiles(all), { pageSize: 2 }));
  const seen: string[] = [];
  const sizes: number[] = [];
  let cursor: unknown;
  do {
    const page = await client.request("skills/list", cursor === undefined ? {} : { cursor });
    equal(page.resultType, era === "modern" ? "complete" : undefined);
    equal(page.ttlMs, era === "modern" ? 0 : undefined);
    equal(page.cacheScope, era === "modern" ? "private" : undefined);
    const entries = page.skills as readonly Skill[];
    for (const { frontmatter, resources } of entries) {
      seen.push(frontmatter.name);
      equal(resources.length, 2, "an entry is never split");
    }
    sizes.push(entries.length);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  deepEqual(seen, ["a", "b", "c", "d", "e"]);
  deepEqual(sizes, [2, 2, 1]);
  await rejects(client.request("skills/list", { cursor: "nonsense" }), { rpcCode: -32602 });
  deepEqual(await names(await connect(serve(skillFiles({})))), []);
});

verifies(["skills:get:any-served", "skills:get:unknown"], eachWire, async ({ connect, era }) => {
  const files = skillFiles({
    "shown/SKILL.md": skillText("shown"),
    "quiet/SKILL.md": skillText("quiet"),
    "quiet/notes.md": "x",
  });
  const hidden = { frontmatter: { name: "coded", description: "x" }, body: "", listed: false };
  const options = { listed: ({ frontmatter }: Skill) => frontmatter.name === "shown", cache: { ttlMs: 5000 } };
  const client = await connect(serve([files, hidden], options));
  deepEqual(await names(client), ["shown"]);
  const [shown] = (await client.request("skills/list")).skills as readonly Skill[];
  for (const name of ["shown", "quiet", "coded"]) {
    const { skill, ttlMs, cacheScope, nextCursor } = await client.request("skills/get", {
      uri: `skill://${name}/SKILL.md`,
    });
    equal((skill as Skill).frontmatter.name, name);
    deepEqual(
      [ttlMs, cacheScope, nextCursor],
      era === "modern" ? [5000, "private", undefined] : [undefined, undefined, undefined],
    );
    if (name === "shown") deepEqual(skill, shown);
  }
  for (const uri of ["skill://none/SKILL.md", "skill://quiet/notes.md", "skill://quiet", "other://quiet/SKILL.md", 7]) {
    await rejects(client.request("skills/get", { uri }), { rpcCode: -32602 }, String(uri));
  }
  await rejects(client.request("skills/get"), { rpcCode: -32602 });
});

verifies(["skills:directory:read", "skills:directory:not-one"], eachWire, async ({ connect }) => {
  const tree: SkillFiles = {
    read: async () => {
      const { files } = await skillFiles({
        "pdf/SKILL.md": skillText("pdf"),
        "pdf/templates/a.md": "a",
        "pdf/templates/b.md": "b",
        "pdf/templates/regional/eu.md": "eu",
        "pdf/inner/SKILL.md": skillText("inner"),
      }).read();
      return { files, emptyDirectories: ["pdf/void"] };
    },
  };
  const client = await connect(serve(tree, { pageSize: 2 }));
  const read = async (uri: string) => {
    const found: unknown[] = [];
    let cursor: unknown;
    do {
      const page = await client.request("resources/directory/read", cursor === undefined ? { uri } : { uri, cursor });
      for (const { size: _, ...resource } of page.resources as readonly Record<string, unknown>[]) found.push(resource);
      ok((page.resources as readonly unknown[]).length <= 2);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return found;
  };
  deepEqual(await read("skill://pdf"), [
    { uri: "skill://pdf/SKILL.md", name: "pdf", description: "Does pdf", mimeType: "text/markdown" },
    { uri: "skill://pdf/inner", name: "inner", mimeType: "inode/directory" },
    { uri: "skill://pdf/templates", name: "templates", mimeType: "inode/directory" },
    { uri: "skill://pdf/void", name: "void", mimeType: "inode/directory" },
  ]);
  deepEqual(await read("skill://pdf/templates"), [
    { uri: "skill://pdf/templates/a.md", name: "a.md", mimeType: "text/markdown" },
    { uri: "skill://pdf/templates/b.md", name: "b.md", mimeType: "text/markdown" },
    { uri: "skill://pdf/templates/regional", name: "regional", mimeType: "inode/directory" },
  ]);
  deepEqual(await read("skill://pdf/void"), []);
  deepEqual(await read("skill://pdf/inner"), [
    { uri: "skill://pdf/inner/SKILL.md", name: "inner", description: "Does inner", mimeType: "text/markdown" },
  ]);
  for (const uri of ["skill://pdf/SKILL.md", "skill://pdf/none", "skill://pdf/", "skill://", "skill://pdf/../pdf", 7]) {
    await rejects(client.request("resources/directory/read", { uri }), { rpcCode: -32602 }, String(uri));
  }
});

verifies("skills:changes", eachWire, async ({ connect }) => {
  const contents: Record<string, string> = {
    "a/SKILL.md": skillText("a"),
    "a/x.md": "1",
    "b/SKILL.md": skillText("b"),
  };
  let failure: Error | undefined;
  const source: SkillFiles = {
    read: async () => {
      if (failure !== undefined) throw failure;
      return skillFiles(contents).read();
    },
  };
  const extension = skills(source);
  const client = await connect(new McpServer(me).extend(extension));
  deepEqual(await names(client), ["a", "b"]);
  const watch = await client.watch({ resourcesListChanged: true, resources: ["skill://a/x.md"] });
  const next = async () => {
    const { value } = await watch[Symbol.asyncIterator]().next();
    return value;
  };
  contents["a/x.md"] = "2";
  const changes = await extension.reload();
  deepEqual(changes, {
    added: [],
    removed: [],
    changed: ["skill://a/SKILL.md"],
    files: ["skill://a/x.md"],
    listChanged: false,
  });
  deepEqual(await next(), { kind: "resource", uri: "skill://a/x.md" });
  delete contents["b/SKILL.md"];
  contents["c/SKILL.md"] = skillText("c");
  deepEqual(await extension.reload(), {
    added: ["skill://c/SKILL.md"],
    removed: ["skill://b/SKILL.md"],
    changed: [],
    files: ["skill://b/SKILL.md"],
    listChanged: true,
  });
  deepEqual(await next(), { kind: "resources" });
  deepEqual(await names(client), ["a", "c"]);
  failure = new Error("the disk is away");
  contents["d/SKILL.md"] = skillText("d");
  await rejects(extension.reload(), /the disk is away/);
  deepEqual(await names(client), ["a", "c"], "a failed load changes nothing");
  failure = undefined;
  await extension.reload();
  deepEqual(await names(client), ["a", "c", "d"]);
  await watch.close();
});
