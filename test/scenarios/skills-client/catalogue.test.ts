import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { McpServer } from "bowline/server";
import {
  type SkillApprovalRequest,
  type SkillCache,
  type SkillCacheKey,
  SkillCatalogue,
  type SkillDecision,
  SkillError,
} from "bowline/skills/client";
import { type AnySkill, skills } from "bowline/skills/server";
import { eachWire, type RecordedClient } from "../../support/each-wire.js";
import { readsOf, SkillScript, sentBy } from "../../support/scripted-skills.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const PDF = "skill://pdf/SKILL.md";
const named = (name: string, body = "# Do it\n", more: object = {}): AnySkill => {
  return { frontmatter: { name, description: `About ${name}`, ...more }, body };
};
const serving = (...all: AnySkill[]) => new McpServer(me).extend(skills(all));
const isError = (code: string) => (error: unknown) => error instanceof SkillError && error.code === code;

/** Answers questions by a list of decisions, and records them. */
function user(...decisions: SkillDecision[]) {
  const asked: SkillApprovalRequest[] = [];
  return {
    asked,
    approve: (request: SkillApprovalRequest) => {
      asked.push(request);
      return decisions.shift() ?? false;
    },
  };
}

verifies("skills:host:identity", eachWire, async ({ connect }) => {
  const clients = {
    one: await connect(serving(named("pdf", "one"))),
    two: await connect(serving(named("pdf", "two"))),
  };
  const kept = new Map<string, Uint8Array>();
  const keyOf = ({ server, uri, digest }: SkillCacheKey) => JSON.stringify([server, uri, digest]);
  const cache: SkillCache = {
    get: (key) => kept.get(keyOf(key)),
    set: (key, bytes) => void kept.set(keyOf(key), bytes),
    delete: (key) => void kept.delete(keyOf(key)),
  };
  const { approve, asked } = user({ keep: true }, { keep: true });
  const catalogue = new SkillCatalogue(clients, { approve, cache });
  const { skills: found } = await catalogue.list();
  deepEqual(
    found.map(({ server, uri, name }) => [server, uri, name]),
    [
      ["one", PDF, "pdf"],
      ["two", PDF, "pdf"],
    ],
  );
  for (const server of ["one", "two", "one", "two"]) {
    const held = await catalogue.load({ server, uri: PDF });
    deepEqual([held.server, held.body], [server, server]);
  }
  deepEqual(
    asked.map(({ server }) => server),
    ["one", "two"],
  );
  deepEqual([...kept.keys()].map((key) => JSON.parse(key)[0]).sort(), ["one", "two"]);
  deepEqual([readsOf(clients.one).length, readsOf(clients.two).length], [1, 1]);
  await rejects(catalogue.load({ server: "three", uri: PDF }), { code: "unknown_server" });
});

verifies("skills:host:names", eachWire, async ({ connect }) => {
  const clients = {
    one: await connect(serving(named("pdf"), { ...named("pdf"), path: "old/pdf" }, named("mail"), named("only"))),
    two: await connect(serving(named("pdf"), named("deploy"))),
  };
  const catalogue = new SkillCatalogue(clients, { approve: () => true, ownNames: ["mail", "deploy", "deploy (two)"] });
  const { skills: found, collisions } = await catalogue.list();
  const labels = Object.fromEntries(found.map(({ server, uri, label }) => [`${server} ${uri}`, label]));
  deepEqual(labels, {
    "one skill://mail/SKILL.md": "mail (one)",
    "one skill://old/pdf/SKILL.md": "pdf (one: skill://old/pdf/SKILL.md)",
    "one skill://only/SKILL.md": "only",
    "one skill://pdf/SKILL.md": "pdf (one: skill://pdf/SKILL.md)",
    "two skill://deploy/SKILL.md": "deploy (two: skill://deploy/SKILL.md)",
    "two skill://pdf/SKILL.md": "pdf (two)",
  });
  equal(new Set(Object.values(labels)).size, 6);
  deepEqual(collisions.map(({ name, own, skills: same }) => [name, own, same.length]).sort(), [
    ["deploy", true, 1],
    ["mail", true, 1],
    ["pdf", false, 3],
  ]);
});

verifies("skills:host:names", "that look the same", eachWire, async ({ connect }) => {
  const alike = ["paypal", "p\u0430yp\u0430l", "\u0440\u0430yp\u0430l", "paypa1", "paypal\u3164"];
  // A syllable, and its parts with an invisible letter in between.
  const syllables = ["\uac00", "\u1100\u3164\u1161"];
  const other = ["paypai", "\u0434\u043e\u043c", "pays"];
  const clients: Record<string, RecordedClient> = {};
  const labelled = [...alike, ...syllables];
  for (const [at, name] of [...labelled, ...other].entries()) clients[`s${at}`] = await connect(serving(named(name)));
  const { skills: found, collisions } = await new SkillCatalogue(clients, { approve: () => true }).list();
  deepEqual(
    found.map(({ label }) => label).sort(),
    [...labelled.map((name, at) => `${name} (s${at})`), ...other].sort(),
  );
  deepEqual(
    collisions.map(({ skills: same }) => same.length),
    [alike.length, syllables.length],
  );
  const own = new SkillCatalogue({ s1: clients.s1 as RecordedClient }, { approve: () => true, ownNames: ["paypal"] });
  deepEqual(
    (await own.list()).collisions.map(({ own }) => own),
    [true],
  );
});

verifies("skills:host:origin", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  script.serve(PDF, { "a.md": "a" });
  const clients = { docs: await connect(script.server()) };
  const held = await new SkillCatalogue(clients, { approve: () => true }).load({ server: "docs", uri: PDF });
  const file = await held.read("a.md");
  // The server names itself otherwise.
  deepEqual([held.server, file.server, clients.docs.server.info?.name], ["docs", "docs", "scripted"]);
});

verifies("skills:host:origin-scoped-reads", eachWire, async ({ connect }) => {
  const files = new McpServer(me).resource("file:///secret", { name: "secret" }, () => "secret");
  const clients = { docs: await connect(serving(named("pdf"))), files: await connect(files) };
  const { approve, asked } = user(true, false, true, { keep: true }, false);
  const catalogue = new SkillCatalogue(clients, { approve });
  const held = await catalogue.load({ server: "docs", uri: PDF });
  await rejects(held.read("file:///secret"), isError("not_in_skill"));
  await rejects(held.readFrom("files", "file:///secret"), isError("not_approved"));
  deepEqual(sentBy(clients.files), []);
  const file = await held.readFrom("files", "file:///secret");
  deepEqual([file.server, file.text, file.verified], ["files", "secret", false]);
  // An approval is for one read, whatever the user decides.
  await held.readFrom("files", "file:///secret");
  await rejects(held.readFrom("files", "file:///secret"), isError("not_approved"));
  deepEqual(
    asked.slice(1).map(({ server, skill, readFrom }) => [server, skill.uri, readFrom]),
    Array(4).fill(["docs", PDF, { server: "files", uri: "file:///secret" }]),
  );
  deepEqual(readsOf(clients.docs), [PDF]);
});

verifies("skills:host:approval-bound", "asks before anything is read", eachWire, async ({ connect }) => {
  const clients = { docs: await connect(serving(named("pdf"))) };
  const { approve, asked } = user(false, true);
  const catalogue = new SkillCatalogue(clients, { approve });
  await rejects(catalogue.load({ server: "docs", uri: PDF }), isError("not_approved"));
  deepEqual(readsOf(clients.docs), []);
  const { skills: found } = await catalogue.list();
  const held = await catalogue.load(found[0]!);
  equal(held.body, "# Do it\n");
  // Each of these was approved once.
  await rejects(catalogue.load(found[0]!), isError("not_approved"));
  equal(asked.length, 3);
  equal(asked[0]?.change, undefined);
});

/** Changes to a skill with two files, and the differences that they make. */
const CHANGES: readonly (readonly [{ [path: string]: string }, object])[] = [
  [{ "a.md": "A", "b.md": "b" }, { changed: ["skill://pdf/a.md"] }],
  [{ "a.md": "a", "b.md": "b", "c.md": "c" }, { added: ["skill://pdf/c.md"] }],
  [{ "a.md": "a" }, { removed: ["skill://pdf/b.md"] }],
];

async function approvedOnce(connect: (server: McpServer) => Promise<RecordedClient>, ...more: SkillDecision[]) {
  const script = new SkillScript();
  script.serve(PDF, { "a.md": "a", "b.md": "b" });
  const client = await connect(script.server());
  const answers = user({ keep: true }, ...more);
  const catalogue = new SkillCatalogue({ docs: client }, { approve: answers.approve });
  const held = await catalogue.load({ server: "docs", uri: PDF });
  await catalogue.load({ server: "docs", uri: PDF });
  equal(answers.asked.length, 1);
  const change = (files: { [path: string]: string }) => {
    script.entries = [];
    script.serve(PDF, files);
  };
  return { script, catalogue, held, asked: answers.asked, change };
}

verifies("skills:host:approval-bound", "asks again after any difference", eachWire, async ({ connect }) => {
  const none = { added: [], removed: [], changed: [], fields: [] };
  for (const [files, difference] of CHANGES) {
    const { catalogue, asked, change } = await approvedOnce(connect, false, { keep: true });
    change(files);
    await rejects(catalogue.load({ server: "docs", uri: PDF }), isError("not_approved"));
    deepEqual(asked[1]?.change, { ...none, ...difference });
    await catalogue.load({ server: "docs", uri: PDF });
    await catalogue.load({ server: "docs", uri: PDF });
    equal(asked.length, 3);
  }
});

verifies("skills:host:approval-bound", "stays revoked when the content returns", eachWire, async ({ connect }) => {
  const original = { "a.md": "a", "b.md": "b" };
  const ways: ((world: Awaited<ReturnType<typeof approvedOnce>>) => Promise<unknown>)[] = [
    ({ catalogue }) => catalogue.list(),
    ({ held }) => rejects(held.read("a.md"), isError("skill_changed")),
    async ({ held, script }) => {
      script.directories.set("skill://pdf", [{ uri: "skill://pdf/new.md", name: "new.md" }]);
      deepEqual((await held.directory()).children, []);
    },
    ({ catalogue }) => rejects(catalogue.load({ server: "docs", uri: PDF }), isError("not_approved")),
  ];
  for (const notice of ways) {
    const world = await approvedOnce(connect, false, false);
    world.change({ "a.md": "A", "b.md": "b" });
    await notice(world);
    world.change(original);
    const before = world.asked.length;
    await rejects(world.catalogue.load({ server: "docs", uri: PDF }), isError("not_approved"));
    equal(world.asked.length, before + 1);
  }
});

verifies("skills:host:approval-bound", "keeps the approval of the present entry", eachWire, async ({ connect }) => {
  const { script, catalogue, held, asked, change } = await approvedOnce(connect, { keep: true });
  script.hints = { ttlMs: 60_000, cacheScope: "private" };
  await catalogue.list();
  change({ "a.md": "A", "b.md": "b" });
  await catalogue.load({ server: "docs", uri: PDF });
  equal(asked.length, 2);
  // Neither an older skill nor an older listing revokes the newer approval.
  await rejects(held.read("a.md"), isError("skill_changed"));
  await catalogue.list();
  await catalogue.load({ server: "docs", uri: PDF });
  equal(asked.length, 2);
});

verifies("skills:host:approval-bound", "keeps none for a dynamic skill", eachWire, async ({ connect }) => {
  const dynamic: AnySkill = { frontmatter: { name: "pdf", description: "d" }, read: () => "# Now\n" };
  const { approve, asked } = user({ keep: true }, { keep: true }, false);
  const store = new Map<string, unknown>();
  const catalogue = new SkillCatalogue(
    { docs: await connect(serving(dynamic)) },
    { approve, approvals: store as never },
  );
  await catalogue.load({ server: "docs", uri: PDF });
  await catalogue.load({ server: "docs", uri: PDF });
  await rejects(catalogue.load({ server: "docs", uri: PDF }), isError("not_approved"));
  deepEqual([asked.length, store.size], [3, 0]);
});

verifies("skills:host:nested-consent", eachWire, async ({ connect }) => {
  const script = new SkillScript();
  const inner = "---\nname: inner\ndescription: d\nallowed-tools: Bash\n---\n";
  script.serve("skill://outer/SKILL.md", { "inner/SKILL.md": inner });
  const nested = { name: "inner", description: "d", "allowed-tools": "Bash" };
  const { resources } = script.entries[0] as { resources: { uri: string }[] };
  const uri = "skill://outer/inner/SKILL.md";
  script.entries.push({ uri, frontmatter: nested, resources: resources.filter((file) => file.uri === uri) });
  const { approve, asked } = user({ keep: true, allowedTools: true }, false, true);
  const catalogue = new SkillCatalogue({ docs: await connect(script.server()) }, { approve });
  const held = await catalogue.load({ server: "docs", uri: "skill://outer/SKILL.md" });
  const file = await held.read("inner/SKILL.md");
  deepEqual([file.text, held.allowedTools, held.frontmatter.name], [inner, [], "outer"]);
  await rejects(catalogue.load({ server: "docs", uri }), isError("not_approved"));
  deepEqual((await catalogue.load({ server: "docs", uri })).allowedTools, []);
  equal(asked.length, 3);
});

verifies("skills:host:allowed-tools", eachWire, async ({ connect }) => {
  const text = named("pdf", "", { "allowed-tools": "Bash(git add:*)  Read" });
  const list = named("mail", "", { "allowed-tools": ["Send", "Read"] });
  const client = await connect(serving(text, list));
  const { approve, asked } = user(true, { keep: true }, { allowedTools: true }, { keep: true, allowedTools: true });
  const catalogue = new SkillCatalogue({ docs: client }, { approve });
  const tools = async (name: string) =>
    (await catalogue.load({ server: "docs", uri: `skill://${name}/SKILL.md` })).allowedTools;
  deepEqual(await tools("pdf"), []);
  deepEqual(asked[0]?.allowedTools, ["Bash(git add:*)", "Read"]);
  // A kept approval grants no more than the user did.
  deepEqual([await tools("pdf"), await tools("pdf")], [[], []]);
  deepEqual(await tools("mail"), ["Send", "Read"]);
  deepEqual(
    [await tools("mail"), await tools("mail")],
    [
      ["Send", "Read"],
      ["Send", "Read"],
    ],
  );
  equal(asked.length, 4);
});

verifies("skills:host:read-is-no-load", eachWire, async ({ connect }) => {
  const client = await connect(serving(named("pdf", "# Do it\n", { "allowed-tools": "Bash" })));
  const { approve, asked } = user(false);
  const catalogue = new SkillCatalogue({ docs: client }, { approve });
  const { contents } = await client.readResource(PDF);
  ok("text" in contents[0]!);
  equal(asked.length, 0);
  // The read has left no approval behind.
  await rejects(catalogue.load({ server: "docs", uri: PDF }), isError("not_approved"));
  equal(asked.length, 1);
});

verifies("skills:client:no-prefetch", "reads nothing for a catalogue or an approval", eachWire, async ({ connect }) => {
  const client = await connect(serving(named("pdf"), named("mail")));
  const approve = () => {
    deepEqual(readsOf(client), []);
    return true;
  };
  const catalogue = new SkillCatalogue({ docs: client }, { approve });
  await catalogue.list();
  deepEqual(readsOf(client), []);
  await catalogue.load({ server: "docs", uri: PDF });
  deepEqual(readsOf(client), [PDF]);
});
