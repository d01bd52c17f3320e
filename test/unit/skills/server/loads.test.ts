import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import {
  type AnySkill,
  type Skill,
  type SkillProblem,
  type SkillTree,
  skillFiles,
  skills,
} from "bowline/skills/server";

const me = { name: "s", version: "1.0.0" };

const text = (name: string, description = "x") => `---\nname: ${name}\ndescription: ${description}\n---\n`;

function tree(description: string): SkillTree {
  return { files: new Map([["a/SKILL.md", Buffer.from(text("a", description))]]) };
}

/** Source whose reads end when the test says so. */
class Reads {
  readonly pending: { resolve(tree: SkillTree): void; reject(error: Error): void }[] = [];
  #onRead: () => void = () => {};

  read(): Promise<SkillTree> {
    const read = new Promise<SkillTree>((resolve, reject) => this.pending.push({ resolve, reject }));
    this.#onRead();
    return read;
  }

  /** Resolves when there have been this many reads. */
  async reach(count: number): Promise<void> {
    while (this.pending.length < count) await new Promise<void>((resolve) => (this.#onRead = resolve));
  }
}

async function namesOf(server: McpServer, t: TestContext): Promise<readonly string[]> {
  const client = await connect(server);
  t.after(() => client.close());
  const { skills: found } = await client.request("skills/list");
  return (found as readonly Skill[]).map(({ frontmatter }) => frontmatter.name);
}

test("a load that fails does not let later ones run at the same time", async () => {
  const source = new Reads();
  const extension = skills(source);
  const first = extension.reload();
  await source.reach(1);
  const second = extension.reload();
  source.pending[0]?.reject(new Error("disk"));
  await rejects(first, /disk/);
  await source.reach(2);
  const third = extension.reload();
  await new Promise(setImmediate);
  equal(source.pending.length, 2, "the third load waits for the second");
  source.pending[1]?.resolve(tree("second"));
  await second;
  await source.reach(3);
  source.pending[2]?.resolve(tree("third"));
  await third;
  equal(extension.entries[0]?.frontmatter.description, "third");
});

test("calls that wait for a load share the next one", async () => {
  const source = new Reads();
  const extension = skills(source);
  const first = extension.reload();
  await source.reach(1);
  const others = [extension.reload(), extension.reload(), extension.reload()];
  source.pending[0]?.resolve(tree("first"));
  await first;
  await source.reach(2);
  source.pending[1]?.resolve(tree("second"));
  for (const changes of await Promise.all(others)) deepEqual(changes.changed, ["skill://a/SKILL.md"]);
  equal(source.pending.length, 2);
});

test("a listener of problems that throws does not affect the load", async () => {
  const extension = skills(skillFiles({ "a/SKILL.md": "none", "b/SKILL.md": text("b") }), {
    onProblem() {
      throw new Error("listener");
    },
  });
  deepEqual((await extension.reload()).added, ["skill://b/SKILL.md"]);
  equal(extension.problems.length, 1);
});

test("a bad skill of a caller does not take the others along, and is reported once", async (t) => {
  const problems: SkillProblem[] = [];
  const bad = { frontmatter: { name: "Not A Name", description: "x" }, body: "" };
  const good: AnySkill = { frontmatter: { name: "good", description: "x" }, body: "" };
  const extension = skills([skillFiles({ "a/SKILL.md": text("a") }), () => [bad, good]], {
    onProblem: (problem) => problems.push(problem),
  });
  const server = new McpServer(me).extend(extension);
  t.after(() => server.close());
  deepEqual(await namesOf(server, t), ["a", "good"]);
  deepEqual(await namesOf(server, t), ["a", "good"]);
  equal(problems.length, 1);
  match(problems[0]?.message ?? "", /name "Not A Name" must consist of lowercase letters/);
});

test("skills that changed while no server watched them are loaded when a server is extended", async (t) => {
  let reads = 0;
  const read = async () => tree(`read ${++reads}`);
  const extension = skills({ read, watch: () => () => {} });
  const first = new McpServer(me).extend(extension);
  await namesOf(first, t);
  await first.close();
  equal(reads, 1);
  const second = new McpServer(me).extend(extension);
  t.after(() => second.close());
  await new Promise(setImmediate);
  equal(reads, 2);
});

test("a watch that cannot start ends the watches before it", async () => {
  let stopped = 0;
  const read = async () => tree("x");
  const extension = skills([
    { read, watch: () => () => void stopped++ },
    {
      read,
      watch() {
        throw new Error("no watch");
      },
    },
  ]);
  const server = new McpServer(me);
  throws(() => server.extend(extension), /no watch/);
  await server.close();
  equal(stopped, 1);
});

test("a file that is gone counts as changed", async () => {
  const files = new Map([
    ["a/SKILL.md", Buffer.from(text("a"))],
    ["a/x.md", Buffer.from("x")],
  ]);
  const extension = skills({ read: async () => ({ files: new Map(files) }) });
  await extension.reload();
  files.delete("a/x.md");
  deepEqual((await extension.reload()).files, ["skill://a/x.md"]);
});

test("a nested skill from another source belongs to the skill around it", async (t) => {
  const outer: AnySkill = { frontmatter: { name: "outer", description: "x" }, body: "" };
  const inner: AnySkill = {
    path: "outer/inner",
    frontmatter: { name: "inner", description: "x" },
    body: "",
    files: { "x.md": "x" },
  };
  const nested = ["skill://outer/inner/SKILL.md", "skill://outer/inner/x.md"];
  for (const source of [
    [outer, inner],
    [inner, outer],
    [outer, () => [inner]],
  ]) {
    const server = new McpServer(me).extend(skills(source));
    t.after(() => server.close());
    const client = await connect(server);
    t.after(() => client.close());
    const { skill } = await client.request("skills/get", { uri: "skill://outer/SKILL.md" });
    deepEqual(
      ((skill as Skill).resources as readonly { uri: string }[]).map(({ uri }) => uri),
      ["skill://outer/SKILL.md", ...nested],
    );
    const { resources } = await client.request("resources/directory/read", { uri: "skill://outer" });
    deepEqual(
      (resources as readonly { uri: string }[]).map(({ uri }) => uri),
      ["skill://outer/SKILL.md", "skill://outer/inner"],
    );
  }
});

test("a nested skill that the skill around it cannot contain is left out", async () => {
  const outer: AnySkill = {
    frontmatter: { name: "outer", description: "x" },
    body: "",
    files: { "clash/x.md": "of outer" },
  };
  const nested = (name: string) => ({ path: `outer/${name}`, frontmatter: { name, description: "x" } });
  const extension = skills([
    outer,
    { ...nested("live"), read: () => "" },
    { ...nested("secret"), body: "", visible: () => false },
    { ...nested("clash"), body: "", files: { "x.md": "of clash" } },
  ]);
  await extension.reload();
  deepEqual(
    extension.entries.map(({ uri, resources }) => [uri, resources.length]),
    [["skill://outer/SKILL.md", 2]],
  );
  deepEqual(
    extension.problems.map(({ path, message }) => `${path}: ${message}`),
    [
      "outer/live: is in the skill skill://outer/SKILL.md, which cannot list generated files; choose another path",
      "outer/secret: is in the skill skill://outer/SKILL.md, which would open it to others; choose another path",
      "outer/clash: is in the skill skill://outer/SKILL.md, which has another file clash/x.md; choose another path",
    ],
  );
});

test("many skills that did not change are loaded again in a short time", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 4_000 }, (_, index) => [`g${index % 50}/s${index}/SKILL.md`, text(`s${index}`)]),
  );
  const extension = skills(skillFiles(files));
  await extension.reload();
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const start = performance.now();
    await extension.reload();
    times.push(performance.now() - start);
  }
  // The fastest of several, since other tests run at the same time. Time in the square of the number takes seconds.
  const best = Math.min(...times);
  ok(best < 700, `${best} ms`);
});

test("a generated skill in a generated one answers for its own files", async (t) => {
  const outer: AnySkill = { frontmatter: { name: "outer", description: "o" }, read: () => "of outer" };
  const inner: AnySkill = {
    path: "outer/inner",
    frontmatter: { name: "inner", description: "i" },
    read: (path) => (path === "SKILL.md" ? "of inner" : undefined),
    list: () => ["SKILL.md", "inner.md"],
  };
  const server = new McpServer(me).extend(skills([{ ...outer, list: () => ["SKILL.md"] }, inner]));
  t.after(() => server.close());
  const client = await connect(server);
  t.after(() => client.close());
  const [content] = (await client.readResource("skill://outer/inner/SKILL.md")).contents;
  match((content as { text: string }).text, /name: "inner"\n[\s\S]*of inner$/);
  const { resources } = await client.request("resources/directory/read", { uri: "skill://outer/inner" });
  equal((resources as readonly unknown[]).length, 2);
});

test("a skill in code whose frontmatter clients cannot read is refused", () => {
  const define = (note: unknown) => skills({ frontmatter: { name: "a", description: "d", note }, body: "" });
  throws(() => define("x".repeat(20_000)), /skill "a": the frontmatter has more than 16384 characters/);
  let deep: unknown = "x";
  for (let depth = 0; depth < 70; depth++) deep = [deep];
  throws(() => define(deep), /skill "a": the frontmatter is nested too deeply/);
  throws(() => define(1n), /skill "a": .*BigInt/);
  define("x".repeat(16_000));
});
