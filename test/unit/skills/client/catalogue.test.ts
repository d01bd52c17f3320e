import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { connect, createGroup } from "bowline/client";
import { McpServer } from "bowline/server";
import { type SkillCache, SkillCatalogue, SkillError, SkillsClient } from "bowline/skills/client";
import { skills } from "bowline/skills/server";
import { FakeClock } from "../../../support/fake-clock.js";
import { gate } from "../../../support/gate.js";
import { SkillScript } from "../../../support/scripted-skills.js";

const PDF = "skill://pdf/SKILL.md";

function serving(body: string) {
  const pdf = { frontmatter: { name: "pdf", description: "Reads PDF" }, body };
  return new McpServer({ name: "unit", version: "1.0.0" }).tool("add", {}, () => "3").extend(skills(pdf));
}

test("a catalogue of a group knows servers by the host's names and survives the failure of one", async (t) => {
  const docs = serving("docs");
  const group = createGroup<{ docs: typeof docs; broken: typeof docs }>({
    mcpServers: { docs, broken: () => Promise.reject(new Error("no such host")) },
  });
  t.after(() => group.close());
  const catalogue = new SkillCatalogue(group, { approve: () => true });
  const { skills: found, failures } = await catalogue.list();
  deepEqual(
    found.map(({ server, uri, label }) => [server, uri, label]),
    [["docs", PDF, "pdf"]],
  );
  deepEqual([...failures.keys()], ["broken"]);
  equal((await catalogue.load({ server: "docs", uri: PDF })).body, "docs");
  await group.reset("docs");
  equal((await catalogue.load(found[0]!)).body, "docs");
  await rejects(catalogue.load({ server: "other", uri: PDF }), { code: "unknown_server" });
});

test("a catalogue does not wait longer than listTimeoutMs for a server", async (t) => {
  const clock = new FakeClock();
  const reached = gate();
  const never = gate();
  const listed = gate();
  const client = await connect(serving("docs"), {
    interceptors: [(call, next) => next(call).finally(() => setImmediate(listed.open))],
  });
  t.after(() => client.close());
  const script = new SkillScript();
  script.list = async () => {
    reached.open();
    await never.opened;
    return { skills: [] };
  };
  const slow = await connect(script.server());
  t.after(() => slow.close());
  const catalogue = new SkillCatalogue({ docs: client, slow }, { approve: () => true, clock });
  const listing = catalogue.list();
  await Promise.all([reached.opened, listed.opened]);
  await clock.advance(15_000);
  const { skills: found, failures } = await listing;
  deepEqual([found.length, failures.get("slow")?.message.includes("limits.listTimeoutMs")], [1, true]);
  never.open();
});

test("a typed client can be passed, and wrong options are refused", async (t) => {
  const server = serving("docs");
  const client = await connect<typeof server>(server);
  t.after(() => client.close());
  equal((await new SkillsClient(client).list()).skills.length, 1);
  throws(() => new SkillsClient(client, { limit: {} } as never), { message: /did you mean limits/ });
  throws(() => new SkillsClient(client, { limits: { maxFiles: -1 } }), { message: /maxFiles/ });
  throws(() => new SkillsClient(client, { cache: new Map() as never }), { message: /cache requires server/ });
  throws(() => new SkillCatalogue({ docs: client }, {} as never), { message: /approve is required/ });
});

test("a misspelt option is refused where nothing is sent too: a listing that is reused, a file in the cache", async (t) => {
  const pdf = { frontmatter: { name: "pdf", description: "Reads PDF" }, body: "docs" };
  const server = new McpServer({ name: "unit", version: "1.0.0" }).extend(skills(pdf, { cache: { ttlMs: 60_000 } }));
  const client = await connect(server);
  t.after(() => client.close());
  const files = new Map<string, Uint8Array>();
  const cache: SkillCache = {
    get: ({ digest }) => files.get(digest),
    set: ({ digest }, bytes) => void files.set(digest, bytes),
    delete: () => {},
  };
  const found = new SkillsClient(client, { server: "docs", cache });
  await found.list();
  const skill = await found.load(PDF);
  const catalogue = new SkillCatalogue({ docs: client }, { approve: () => true });
  const refused = (of: string, hint: string) => ({
    name: "DefinitionError",
    message: `${of}: unknown option ${hint}`,
  });
  const wrong = (options: object) => options as never;
  await rejects(found.list(wrong({ refreshed: true })), refused("skills/list", "refreshed; did you mean refresh?"));
  await rejects(catalogue.list(wrong({ timeout: 5 })), refused("skills/list", "timeout; did you mean timeoutMs?"));
  await rejects(skill.read("SKILL.md", wrong({ form: "a" })), refused("resources/read", "form; did you mean from?"));
  await rejects(
    skill.directory("", wrong({ form: "a" })),
    refused("resources/directory/read", "form; did you mean from?"),
  );
  equal((await skill.read("SKILL.md", { from: undefined, signal: undefined })).path, "SKILL.md");
  equal((await found.list({ refresh: true })).skills.length, 1);
});

test("a cache that fails is reported, and the file is read from the server", async (t) => {
  const client = await connect(serving("docs"));
  t.after(() => client.close());
  const errors: string[] = [];
  const fail = () => Promise.reject(new Error("disk full"));
  const cache = { get: fail, set: fail, delete: fail };
  const found = new SkillsClient(client, { server: "docs", cache, onError: ({ message }) => errors.push(message) });
  equal((await found.load(PDF)).body, "docs");
  deepEqual(errors, ["disk full", "disk full"]);
});

test("an aborted approval loads nothing and keeps nothing", async (t) => {
  const client = await connect(serving("docs"));
  t.after(() => client.close());
  const stop = new AbortController();
  const store = new Map<string, unknown>();
  const approve = () => {
    stop.abort(new Error("gone"));
    return { keep: true };
  };
  const catalogue = new SkillCatalogue({ docs: client }, { approve, approvals: store as never });
  await rejects(catalogue.load({ server: "docs", uri: PDF }, { signal: stop.signal }), { message: "gone" });
  equal(store.size, 0);
});

test("a stored approval of another skill, or a damaged one, approves nothing", async (t) => {
  const client = await connect(serving("docs"));
  t.after(() => client.close());
  const skill = await new SkillsClient(client).get(PDF);
  const key = JSON.stringify(["docs", PDF]);
  for (const kept of [
    "yes",
    { server: "docs", skill: {}, allowedTools: true },
    { server: "other", skill, allowedTools: true },
    { server: "docs", skill: { ...skill, uri: "skill://other/SKILL.md" }, allowedTools: true },
    { server: "docs", skill: { ...skill, resources: [{}, null] }, allowedTools: true },
    { server: "docs", skill, allowedTools: true, revoked: true },
  ]) {
    const approvals = new Map<string, unknown>([[key, kept]]) as never;
    const catalogue = new SkillCatalogue({ docs: client }, { approve: () => false, approvals });
    await rejects(
      catalogue.load({ server: "docs", uri: PDF }),
      (error) => error instanceof SkillError && error.code === "not_approved",
      JSON.stringify(kept),
    );
  }
});
