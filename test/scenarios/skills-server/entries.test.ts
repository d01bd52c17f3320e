import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createHash } from "node:crypto";
import { McpServer } from "bowline/server";
import { type Skill, type SkillSource, type SkillsOptions, skillFiles, skills } from "bowline/skills/server";
import { eachWire, type RecordedClient } from "../../support/each-wire.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const ID = "io.modelcontextprotocol/skills";

function skillText(name: string, more = "", body = "Do it.\n"): string {
  return `---\nname: ${name}\ndescription: Does ${name}\n${more}---\n${body}`;
}

function serve(source: SkillSource | readonly SkillSource[], options?: SkillsOptions): McpServer {
  return new McpServer(me).extend(skills(source, options));
}

async function listed(client: RecordedClient): Promise<readonly Skill[]> {
  return (await client.request("skills/list")).skills as readonly Skill[];
}

async function bytesOf(client: RecordedClient, uri: string): Promise<Buffer> {
  const [content] = (await client.readResource(uri)).contents;
  ok(content !== undefined);
  return "text" in content ? Buffer.from(content.text) : Buffer.from(content.blob, "base64");
}

verifies(["skills:capability:declared", "skills:capability:requires-resources"], eachWire, async ({ connect }) => {
  const files = skillFiles({ "git/SKILL.md": skillText("git") });
  const full = (await connect(serve(files))).server.capabilities;
  deepEqual(full.extensions, { [ID]: { directoryRead: true } });
  ok(full.resources !== undefined);
  const plain = (await connect(serve(files, { directories: false }))).server.capabilities;
  deepEqual(plain.extensions, { [ID]: {} });
  const empty = (await connect(serve(skillFiles({})))).server.capabilities;
  ok(empty.resources !== undefined && empty.extensions?.[ID] !== undefined);
});

verifies("skills:capability:default-off", eachWire, async ({ connect }) => {
  const client = await connect(new McpServer(me).resource("a:b", { name: "r" }, () => "x"));
  equal(client.server.capabilities.extensions, undefined);
  for (const [method, params] of [
    ["skills/list", {}],
    ["skills/get", { uri: "skill://git/SKILL.md" }],
    ["resources/directory/read", { uri: "skill://git" }],
  ] as const) {
    equal((await refused(client.request(method, params))).rpcCode, -32601, method);
  }
});

verifies(
  ["skills:capability:commits-to-methods", "skills:capability:no-client-declaration"],
  eachWire,
  async ({ connect }) => {
    const files = skillFiles({ "git/SKILL.md": skillText("git") });
    const client = await connect(serve(files));
    equal(client.capabilities.extensions, undefined, "the client declares nothing");
    const uri = "skill://git/SKILL.md";
    const [entry] = await listed(client);
    equal(entry?.uri, uri);
    deepEqual((await client.request("skills/get", { uri })).skill, entry);
    const { resources } = await client.request("resources/directory/read", { uri: "skill://git" });
    equal((resources as readonly unknown[]).length, 1);
    const plain = await connect(serve(files, { directories: false }));
    const error = await refused(plain.request("resources/directory/read", { uri: "skill://git" }));
    equal(error.rpcCode, -32601);
  },
);

verifies(
  ["skills:uri:scheme", "skills:uri:last-segment", "skills:uri:first-segment"],
  eachWire,
  async ({ connect }) => {
    const files = skillFiles({
      "git/SKILL.md": skillText("git"),
      "Q&A team/über/SKILL.md": skillText("über"),
      "Q&A team/über/a b#c?.md": "x",
    });
    const uris = (await listed(await connect(serve(files)))).map(({ uri }) => uri);
    deepEqual(uris, ["skill://Q&A%20team/%C3%BCber/SKILL.md", "skill://git/SKILL.md"]);
    const client = await connect(serve(files, { scheme: "docs", prefix: "acme/v2" }));
    const entries = await listed(client);
    deepEqual(
      entries.map(({ uri }) => uri),
      ["docs://acme/v2/Q&A%20team/%C3%BCber/SKILL.md", "docs://acme/v2/git/SKILL.md"],
    );
    for (const { uri, frontmatter } of entries) {
      const segments = uri.slice("docs://".length).split("/");
      for (const segment of segments) match(segment, /^(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-F]{2})+$/);
      equal(decodeURIComponent(segments.at(-2) ?? ""), frontmatter.name);
    }
    // Another encoding of the same name is the same file.
    const odd = "docs://acme/v2/Q%26A%20team/%c3%bcber/a%20b%23c%3F.md";
    equal((await bytesOf(client, odd)).toString(), "x");
  },
);

verifies(["skills:resource:metadata", "skills:resource:meta-prefix"], eachWire, async ({ connect }) => {
  const files = skillFiles({
    "git/SKILL.md": skillText("git"),
    "git/run.py": "print()",
    "git/data.json": "{}",
    "git/logo.png": Buffer.from([0x89, 0x50, 0, 1]),
    "git/notes": "plain",
    "git/blob": Buffer.from([0xff, 0xfe]),
  });
  const client = await connect(serve(files));
  const [resource, ...others] = await client.resources().all();
  deepEqual(
    { ...resource, size: undefined },
    {
      uri: "skill://git/SKILL.md",
      name: "git",
      description: "Does git",
      mimeType: "text/markdown",
      size: undefined,
    },
  );
  deepEqual(others, []);
  const types: Record<string, string | undefined> = {};
  for (const name of ["SKILL.md", "run.py", "data.json", "logo.png", "notes", "blob"]) {
    const [content] = (await client.readResource(`skill://git/${name}`)).contents;
    types[name] = content?.mimeType;
    equal(content?._meta, undefined);
  }
  deepEqual(types, {
    "SKILL.md": "text/markdown",
    "run.py": "text/x-python",
    "data.json": "application/json",
    "logo.png": "image/png",
    notes: "text/plain",
    blob: "application/octet-stream",
  });
});

verifies("skills:nested:flat", eachWire, async ({ connect }) => {
  const files = skillFiles({
    "outer/SKILL.md": skillText("outer"),
    "outer/parts/inner/SKILL.md": skillText("inner"),
    "outer/parts/inner/deep/x.md": "x",
  });
  const entries = await listed(await connect(serve(files)));
  const uris = ({ resources }: Skill) => (resources === "dynamic" ? [] : resources.map(({ uri }) => uri));
  deepEqual(
    entries.map((entry) => [entry.frontmatter.name, uris(entry)]),
    [
      [
        "outer",
        ["skill://outer/SKILL.md", "skill://outer/parts/inner/SKILL.md", "skill://outer/parts/inner/deep/x.md"],
      ],
      ["inner", ["skill://outer/parts/inner/SKILL.md", "skill://outer/parts/inner/deep/x.md"]],
    ],
  );
});

verifies(["skills:entry:frontmatter-verbatim", "skills:entry:reserved-metadata"], eachWire, async ({ connect }) => {
  const yaml = [
    "license: Apache-2.0",
    "flag: yes",
    "really: true",
    "count: 0o17",
    "hex: 0x1F",
    "ratio: 1.50",
    "day: 2026-01-02",
    "time: 12:30",
    "none: ~",
    "list: [1, two, {three: 3}]",
    "metadata:",
    '  version: "2.1"',
    "  io.modelcontextprotocol/unknown: kept",
    "future-field: {a: {b: c}}",
    "",
  ].join("\n");
  const [entry] = await listed(await connect(serve(skillFiles({ "git/SKILL.md": skillText("git", yaml) }))));
  deepEqual(entry?.frontmatter, {
    name: "git",
    description: "Does git",
    license: "Apache-2.0",
    flag: "yes",
    really: true,
    count: 15,
    hex: 31,
    ratio: 1.5,
    day: "2026-01-02",
    time: "12:30",
    none: null,
    list: [1, "two", { three: 3 }],
    metadata: { version: "2.1", "io.modelcontextprotocol/unknown": "kept" },
    "future-field": { a: { b: "c" } },
  });
});

verifies(
  ["skills:entry:resources-complete", "skills:entry:digest", "skills:entry:size", "skills:read:bytes"],
  eachWire,
  async ({ connect }) => {
    const contents = {
      "git/SKILL.md": `\uFEFF${skillText("git").replaceAll("\n", "\r\n")}`,
      "git/crlf.txt": "a\r\nb\rc\n",
      "git/bom.txt": "\uFEFFtext",
      "git/empty.txt": "",
      "git/sub/image.bin": Buffer.from([0, 1, 2, 253, 254, 255]),
      "git/sub/nul.txt": "a\0b",
      "git/emoji.md": "\u{1F600} \u2028",
      "other/SKILL.md": skillText("other"),
      "stray.txt": "belongs to no skill",
    };
    const client = await connect(serve(skillFiles(contents)));
    const [entry] = await listed(client);
    ok(entry !== undefined && entry.resources !== "dynamic");
    const expected = Object.keys(contents).filter((path) => path.startsWith("git/"));
    deepEqual(entry.resources.map(({ uri }) => uri.slice("skill://".length)).sort(), expected.sort());
    for (const { uri, digest, size, ...rest } of entry.resources) {
      const bytes = Buffer.from(contents[uri.slice("skill://".length) as keyof typeof contents]);
      equal(digest, `sha256:${createHash("sha256").update(bytes).digest("hex")}`, uri);
      equal(size, bytes.byteLength, uri);
      deepEqual(rest, {}, "clients refuse entries with other members");
      deepEqual(await bytesOf(client, uri), bytes, uri);
    }
    const [text] = (await client.readResource("skill://git/crlf.txt")).contents;
    ok(text !== undefined && "text" in text);
    const [blob] = (await client.readResource("skill://git/sub/image.bin")).contents;
    ok(blob !== undefined && "blob" in blob);
    for (const uri of ["skill://git/none", "skill://stray.txt", "skill://git/../other/SKILL.md", "skill://git"]) {
      const code = client.era === "modern" ? -32602 : -32002;
      equal((await refused(client.readResource(uri))).rpcCode, code, uri);
    }
  },
);

verifies("skills:entry:dynamic", eachWire, async ({ connect }) => {
  let count = 0;
  const server = serve({
    path: "live/status",
    frontmatter: { name: "status", description: "Current status" },
    read: (path) => {
      if (path === "SKILL.md") return `Reading ${++count}\n`;
      return path === "data/now.bin" ? new Uint8Array([0, 1]) : undefined;
    },
    list: (path) => ({ "": ["SKILL.md", "data/"], data: ["now.bin"] })[path],
  });
  const client = await connect(server);
  const [entry] = await listed(client);
  deepEqual(entry, {
    uri: "skill://live/status/SKILL.md",
    frontmatter: { name: "status", description: "Current status" },
    resources: "dynamic",
  });
  deepEqual((await client.request("skills/get", { uri: entry.uri })).skill, entry);
  const first = (await bytesOf(client, entry.uri)).toString();
  equal(first, '---\nname: "status"\ndescription: "Current status"\n---\nReading 1\n');
  match((await bytesOf(client, entry.uri)).toString(), /Reading 2/);
  deepEqual(await bytesOf(client, "skill://live/status/data/now.bin"), Buffer.from([0, 1]));
  await refused(client.readResource("skill://live/status/none"));
  const children = async (uri: string) => {
    const { resources } = await client.request("resources/directory/read", { uri });
    return (resources as readonly { readonly uri: string }[]).map((child) => child.uri);
  };
  deepEqual(await children("skill://live/status"), ["skill://live/status/SKILL.md", "skill://live/status/data"]);
  deepEqual(await children("skill://live/status/data"), ["skill://live/status/data/now.bin"]);
  await refused(client.request("resources/directory/read", { uri: "skill://live/status/none" }));
});

verifies("skills:eras", "the cache hints are those of the protocol version", eachWire, async ({ connect, era }) => {
  const files = skillFiles({ "git/SKILL.md": skillText("git") });
  const client = await connect(serve(files, { cache: { ttlMs: 60_000, scope: "public" } }));
  const uri = "skill://git/SKILL.md";
  for (const result of [
    await client.request("skills/list"),
    await client.request("skills/get", { uri }),
    await client.request("resources/directory/read", { uri: "skill://git" }),
    await client.readResource(uri),
  ]) {
    const { ttlMs, cacheScope, resultType } = result as Record<string, unknown>;
    const expected = era === "modern" ? [60_000, "public", "complete"] : [undefined, undefined, undefined];
    deepEqual([ttlMs, cacheScope, resultType], expected);
  }
});

async function refused(call: Promise<unknown>): Promise<{ readonly rpcCode: number; readonly message: string }> {
  try {
    await call;
  } catch (error) {
    return error as { readonly rpcCode: number; readonly message: string };
  }
  throw new Error("the call was not refused");
}
