import { deepEqual, equal, rejects } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { SkillError, SkillsClient } from "bowline/skills/client";
import { type AnySkill, skills } from "bowline/skills/server";
import { eachWire, legacyWires, modernWires } from "../../support/each-wire.js";
import { FakeClock } from "../../support/fake-clock.js";
import { readsOf, resourceOf, SkillScript, sentBy } from "../../support/scripted-skills.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const named = (name: string): AnySkill => ({ frontmatter: { name, description: `About ${name}` }, body: "# Do it\n" });
const uriOf = (name: string) => `skill://${name}/SKILL.md`;
const isUnsupported = (error: unknown) => error instanceof SkillError && error.code === "skills_unsupported";

verifies("skills:client:list-all", "follows all pages", eachWire, async ({ connect }) => {
  const names = ["a", "b", "c", "d", "e"];
  const client = await connect(new McpServer(me).extend(skills(names.map(named), { pageSize: 2 })));
  const { skills: found, invalid } = await new SkillsClient(client).list();
  deepEqual([found.map(({ uri }) => uri), invalid], [names.map(uriOf), []]);
  equal(client.wire.requests("skills/list").length, 3);
});

verifies("skills:client:list-all", "stops at maxPages and at a repeated cursor", eachWire, async ({ connect }) => {
  const names = ["a", "b", "c"];
  const client = await connect(new McpServer(me).extend(skills(names.map(named), { pageSize: 1 })));
  const few = new SkillsClient(client, { limits: { maxPages: 2 } });
  await rejects(few.list(), { code: "too_many_pages", message: /limits\.maxPages/ });
  const script = new SkillScript();
  script.list = () => ({ skills: [], nextCursor: "again" });
  const circular = new SkillsClient(await connect(script.server()));
  await rejects(circular.list(), { code: "protocol_error", message: /same cursor twice/ });
});

verifies("skills:client:list-all", "reports invalid entries apart", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  const good = script.serve("skill://good/SKILL.md", {});
  const file = resourceOf("skill://bad/SKILL.md", "x");
  const frontmatter = { name: "bad", description: "d" };
  const bad = { uri: "skill://bad/SKILL.md", frontmatter, resources: [file] };
  const invalid: readonly (readonly [string, unknown, RegExp])[] = [
    ["not an object", 7, /must be an object/],
    ["no uri", { ...bad, uri: undefined }, /uri must be/],
    ["another file", { ...bad, uri: "skill://bad/README.md" }, /uri must be/],
    ["a line break in the uri", { ...bad, uri: "skill://x\n/bad/SKILL.md" }, /uri must be/],
    ["dots in the uri", { ...bad, uri: "skill://x/../bad/SKILL.md" }, /uri must be/],
    ["another name", { ...bad, frontmatter: { ...frontmatter, name: "other" } }, /name in the frontmatter/],
    ["no description", { ...bad, frontmatter: { name: "bad" } }, /description is missing/],
    ["no resources", { ...bad, resources: undefined }, /resources must be/],
    ["another text", { ...bad, resources: "static" }, /resources must be/],
    ["a digest in capitals", { ...bad, resources: [{ ...file, digest: file.digest.toUpperCase() }] }, /digest/],
    ["no size", { ...bad, resources: [{ ...file, size: undefined }] }, /size/],
    ["a part of a byte", { ...bad, resources: [{ ...file, size: 0.5 }] }, /size/],
    ["a file outside", { ...bad, resources: [file, { ...file, uri: "skill://other/x" }] }, /below skill:\/\/bad/],
    ["an encoded way out", { ...bad, resources: [file, { ...file, uri: "skill://bad/%2e%2e/x" }] }, /below/],
    ["a file twice", { ...bad, resources: [file, { ...file, uri: "skill://bad/%53KILL.md" }] }, /repeats/],
    ["no SKILL.md", { ...bad, resources: [{ ...file, uri: "skill://bad/x" }] }, /include SKILL\.md/],
  ];
  const client = await connect(script.server());
  for (const [title, entry, problem] of invalid) {
    script.entries = [entry, good];
    const listing = await new SkillsClient(client).list();
    deepEqual([title, listing.skills], [title, [good]]);
    equal(listing.invalid.length, 1, title);
    equal(problem.test(listing.invalid[0]?.problem ?? ""), true, `${title}: ${listing.invalid[0]?.problem}`);
  }
});

verifies(
  "skills:client:list-all",
  "takes one of equal entries, none of different ones",
  eachWire,
  async ({ connect }) => {
    const script = new SkillScript();
    const one = script.serve("skill://one/SKILL.md", { "a.md": "a" });
    const two = script.serve("skill://two/SKILL.md", {});
    const other = { ...two, frontmatter: { ...two.frontmatter, description: "Another" } };
    script.entries = [one, two, one, other];
    const listing = await new SkillsClient(await connect(script.server())).list();
    deepEqual(listing.skills, [one]);
    deepEqual(
      listing.invalid.map(({ uri }) => uri),
      [two.uri],
    );
  },
);

verifies("skills:client:list-all", "honours ttlMs", modernWires, async ({ connect }) => {
  const script = new SkillScript();
  script.serve("skill://one/SKILL.md", {});
  script.hints = { ttlMs: 5_000, cacheScope: "public" };
  const client = await connect(script.server());
  const clock = new FakeClock();
  const found = new SkillsClient(client, { clock });
  const asked = async (options = {}) => {
    await found.list(options);
    return client.wire.requests("skills/list").length;
  };
  deepEqual([await asked(), await asked()], [1, 1]);
  equal(await asked({ refresh: true }), 2);
  await clock.advance(4_999);
  equal(await asked(), 2);
  await clock.advance(1);
  equal(await asked(), 3);
});

verifies("skills:client:list-all", "reads anew where the server gives no ttlMs", legacyWires, async ({ connect }) => {
  const client = await connect(new McpServer(me).extend(skills(named("one"), { cache: { ttlMs: 60_000 } })));
  const found = new SkillsClient(client);
  await found.list();
  await found.list();
  equal(client.wire.requests("skills/list").length, 2);
});

verifies("skills:client:empty-is-no-proof", eachWire, async ({ connect }) => {
  const hidden: AnySkill = { ...named("hidden"), listed: false };
  const client = await connect(new McpServer(me).extend(skills(hidden)));
  const found = new SkillsClient(client);
  deepEqual((await found.list()).skills, []);
  equal((await found.get(uriOf("hidden"))).frontmatter.name, "hidden");
  equal((await found.load(uriOf("hidden"))).body, "# Do it\n");
});

verifies(
  "skills:client:only-when-declared",
  "sends nothing to a server without skills",
  eachWire,
  async ({ connect }) => {
    const client = await connect(new McpServer(me).resource("skill://one/SKILL.md", { name: "one" }, () => "text"));
    const found = new SkillsClient(client);
    deepEqual([found.supported, found.directories], [false, false]);
    deepEqual(await found.list(), { skills: [], invalid: [] });
    await rejects(found.get(uriOf("one")), isUnsupported);
    await rejects(found.load(uriOf("one")), isUnsupported);
    deepEqual(sentBy(client), []);
  },
);

verifies(
  "skills:client:only-when-declared",
  "lists no directory without directoryRead",
  eachWire,
  async ({ connect }) => {
    const client = await connect(new McpServer(me).extend(skills(named("one"), { directories: false })));
    const found = new SkillsClient(client);
    deepEqual([found.supported, found.directories], [true, false]);
    const held = await found.load(uriOf("one"));
    await rejects(held.directory(), isUnsupported);
    equal(client.wire.requests("resources/directory/read").length, 0);
  },
);

verifies("skills:client:only-when-declared", "asks a server that was never heard", modernWires, async ({ connect }) => {
  const client = await connect(new McpServer(me).extend(skills(named("one"))), { versions: ["2026-07-28"] });
  const found = new SkillsClient(client);
  equal(client.wire.requests("server/discover").length, 0);
  equal(found.supported, undefined);
  equal((await found.list()).skills.length, 1);
  deepEqual([found.supported, found.directories], [true, true]);
  await found.list();
  equal(client.wire.requests("server/discover").length, 1);
});

verifies(
  "skills:client:only-when-declared",
  "asks nothing after an empty handshake",
  legacyWires,
  async ({ connect }) => {
    const client = await connect(new McpServer(me));
    const found = new SkillsClient(client);
    deepEqual(await found.list(), { skills: [], invalid: [] });
    equal(found.supported, false);
    equal(client.wire.requests("server/discover").length, 0);
  },
);

verifies("skills:eras", "works with every version unless minVersion refuses it", eachWire, async ({ connect, era }) => {
  const client = await connect(new McpServer(me).extend(skills(named("one"))));
  equal((await new SkillsClient(client).list()).skills.length, 1);
  const strict = new SkillsClient(client, { minVersion: "2026-07-28" });
  equal(strict.supported, era === "modern");
  equal((await strict.list()).skills.length, era === "modern" ? 1 : 0);
  const loaded = strict.load(uriOf("one"));
  if (era === "modern") await loaded;
  else await rejects(loaded, { code: "skills_unsupported", message: /2025-11-25 is before 2026-07-28 .*minVersion/ });
});

verifies("skills:capability:default-off", eachWire, async ({ connect }) => {
  const client = await connect(new McpServer(me).extend(skills(named("one"))));
  await client.resources().all();
  await client.readResource(uriOf("one"));
  new SkillsClient(client);
  // Anything that was sent on construction arrives before the answer.
  await client.ping();
  deepEqual(sentBy(client), ["resources/list", "resources/read"]);
  equal(client.capabilities.extensions, undefined);
});

verifies("skills:client:no-prefetch", eachWire, async ({ connect }) => {
  const client = await connect(new McpServer(me).extend(skills([named("one"), named("two")])));
  const found = new SkillsClient(client);
  await found.list();
  await found.get(uriOf("two"));
  deepEqual(readsOf(client), []);
  await found.load(uriOf("two"));
  deepEqual(readsOf(client), [uriOf("two")]);
});

verifies("skills:uri:scheme-proves-nothing", eachWire, async ({ connect }) => {
  const script = new SkillScript({ scheme: "acme" });
  script.serve("acme://team/refunds/SKILL.md", { "a.md": "a" });
  const server = script.server().resource("skill://stray/SKILL.md", { name: "stray" }, () => "---\nname: stray\n---\n");
  const found = new SkillsClient(await connect(server));
  const { skills: listed } = await found.list();
  deepEqual(
    listed.map(({ uri }) => uri),
    ["acme://team/refunds/SKILL.md"],
  );
  equal((await (await found.load("acme://team/refunds/SKILL.md")).read("a.md")).text, "a");
  await rejects(found.load("skill://stray/SKILL.md"), { rpcCode: -32602 });
});
