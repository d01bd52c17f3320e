import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { findConfigured } from "#src/cli/hosts/find.js";
import { type Place, projectPlaces, userPlaces } from "#src/cli/hosts/places.js";
import { readConfigured } from "#src/cli/hosts/read.js";
import { entriesOf } from "#src/cli/hosts/shapes.js";
import { parseToml } from "#src/cli/hosts/toml.js";
import type { Io } from "#src/cli/io.js";
import { bowline, emptyFolder } from "../../support/command.js";

const short = (places: readonly Place[]) => places.map(({ host, file }) => `${host} ${file}`);

test("the files of nine hosts on Linux, macOS and Windows", () => {
  const on = (platform: NodeJS.Platform, home: string, env: Record<string, string> = {}) =>
    short(userPlaces({ platform, home, env, cwd: home }));
  deepEqual(on("linux", "/home/a"), [
    "claude-desktop /home/a/.config/Claude/claude_desktop_config.json",
    "claude-code /home/a/.claude.json",
    "vscode /home/a/.config/Code/User/mcp.json",
    "vscode-insiders /home/a/.config/Code - Insiders/User/mcp.json",
    "cursor /home/a/.cursor/mcp.json",
    "windsurf /home/a/.codeium/windsurf/mcp_config.json",
    "gemini /home/a/.gemini/settings.json",
    "codex /home/a/.codex/config.toml",
    "opencode /home/a/.config/opencode/opencode.json",
    "opencode /home/a/.config/opencode/opencode.jsonc",
    "goose /home/a/.config/goose/config.yaml",
  ]);
  deepEqual(on("darwin", "/Users/a").slice(0, 4), [
    "claude-desktop /Users/a/Library/Application Support/Claude/claude_desktop_config.json",
    "claude-code /Users/a/.claude.json",
    "vscode /Users/a/Library/Application Support/Code/User/mcp.json",
    "vscode-insiders /Users/a/Library/Application Support/Code - Insiders/User/mcp.json",
  ]);
  const windows = on("win32", "C:\\Users\\a", { APPDATA: "D:\\Roaming" });
  equal(windows[0], "claude-desktop D:\\Roaming\\Claude\\claude_desktop_config.json");
  equal(windows[2], "vscode D:\\Roaming\\Code\\User\\mcp.json");
  equal(windows[4], "cursor C:\\Users\\a\\.cursor\\mcp.json");
  equal(windows.at(-1), "goose D:\\Roaming\\Block\\goose\\config\\config.yaml");
  equal(on("linux", "/home/a", { XDG_CONFIG_HOME: "/x", CODEX_HOME: "/y" })[7], "codex /y/config.toml");
});

test("files of a project are looked for up to the repository, and outside of one in the folder alone", () => {
  const io = { platform: "linux", home: "/home/a", env: {}, cwd: "/home/a/work/pkg/src" } as const;
  const foldersOf = (root: string) => [
    ...new Set(projectPlaces(io, (path) => path === `${root}/.git`).map(({ project }) => project)),
  ];
  deepEqual(foldersOf("/home/a/work"), ["/home/a/work/pkg/src", "/home/a/work/pkg", "/home/a/work"]);
  deepEqual(foldersOf("/nowhere"), ["/home/a/work/pkg/src"]);
});

/** One entry as each host writes it, and as hosts share it. */
const shapes: readonly (readonly [shape: Place["shape"], config: object, expected: object])[] = [
  [
    "mcpServers",
    { mcpServers: { a: { command: "x", args: ["1"], env: { N: 1 } } } },
    { a: { command: "x", args: ["1"], env: { N: "1" } } },
  ],
  ["mcpServers", { mcpServers: { a: { serverUrl: "https://w.example" } } }, { a: { url: "https://w.example" } }],
  [
    "mcpServers",
    { mcpServers: { a: { httpUrl: "https://g.example", url: "https://old" } } },
    { a: { url: "https://g.example" } },
  ],
  [
    "servers",
    { servers: { a: { type: "http", url: "https://v.example", headers: { k: "v" } } } },
    { a: { type: "http", url: "https://v.example", headers: { k: "v" } } },
  ],
  [
    "claude-code",
    {
      mcpServers: { a: { command: "x" } },
      projects: { "/p": { mcpServers: { b: { command: "y" } } }, "/q": { mcpServers: { c: { command: "z" } } } },
    },
    { a: { command: "x" }, b: { command: "y" } },
  ],
  [
    "codex",
    {
      mcp_servers: { a: { command: "x", enabled: false }, b: { url: "https://c.example", bearer_token_env_var: "T" } },
    },
    {
      a: { command: "x", disabled: true },
      b: { url: "https://c.example", headers: { authorization: "Bearer $" + "{T}" } },
    },
  ],
  [
    "opencode",
    {
      mcp: {
        a: { type: "local", command: ["x", "{env:Y}"], environment: { K: "{env:V}" } },
        b: { type: "remote", url: "https://o.example" },
      },
    },
    { a: { command: "x", args: ["$" + "{Y}"], env: { K: "$" + "{V}" } }, b: { url: "https://o.example" } },
  ],
  [
    "goose",
    {
      extensions: {
        a: { type: "stdio", cmd: "x", args: ["1"], envs: { K: "v" }, env_keys: ["T"], enabled: true },
        dev: { type: "builtin" },
        b: { type: "streamable_http", uri: "https://g.example" },
      },
    },
    {
      a: { command: "x", args: ["1"], env: { T: "$" + "{T}", K: "v" } },
      b: { type: "http", url: "https://g.example" },
    },
  ],
];

for (const [shape, config, expected] of shapes) {
  test(`servers in the shape ${shape}: ${Object.keys(config)[0]} ${JSON.stringify(expected).slice(0, 40)}`, () => {
    deepEqual(entriesOf(config, { host: "x", file: "f", shape, project: undefined }, { cwd: "/p" }), expected);
  });
}

test("TOML as Codex has it", () => {
  const text = `# a comment
model = "o3" # another
[mcp_servers.files]
command = 'npx'
args = [
  "-y", "pkg", # inside
  """multi
line""",
]
env = { "A.B" = "1", C.D = "\\u00e9\\t" }
startup = 1_000
ok = true
[mcp_servers."my server"]
url = "https://x.example#not-a-comment"
[[list]]
n = 1
[[list]]
n = 2
`;
  deepEqual(parseToml(text, "f"), {
    model: "o3",
    mcp_servers: {
      files: {
        command: "npx",
        args: ["-y", "pkg", "multi\nline"],
        env: { "A.B": "1", C: { D: "é\t" } },
        startup: 1000,
        ok: true,
      },
      "my server": { url: "https://x.example#not-a-comment" },
    },
    list: [{ n: 1 }, { n: 2 }],
  });
  for (const [broken, line] of [
    ["a = ", 1],
    ["a = 1\na = 2", 2],
    ["[a]\n[a]", 2],
    ["a = 'x", 1],
    ["ok = 1\n[a", 2],
    ["a = [1 2]", 1],
    ["secret = sk-123", 1],
  ] as const) {
    try {
      parseToml(broken, "f.toml");
      ok(false, broken);
    } catch (error) {
      equal((error as Error).message, `f.toml: is not valid TOML, line ${line}`, broken);
    }
  }
});

/** Writes the files, and returns what the command takes from its process. */
function world(t: TestContext, files: Readonly<Record<string, string>>, env: Record<string, string> = {}): Io {
  const [cwd, home] = [emptyFolder(t), emptyFolder(t)];
  for (const [path, text] of Object.entries(files)) {
    const file = path.startsWith("~/") ? join(home, path.slice(2)) : join(cwd, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return { cwd, home, env, platform: "linux", stdin: { isTTY: false }, stderr: { isTTY: false } } as unknown as Io;
}

const refusal = async (work: Promise<unknown>) => {
  const error = (await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as Error | undefined;
  equal(error?.name, "UsageError", String(error));
  return error?.message ?? "";
};

test("a bare name must be one server; the same entry in two files is one", async (t) => {
  const io = world(t, {
    "~/.cursor/mcp.json":
      '{ "mcpServers": { "files": { "command": "x" }, "same": { "command": "a", "args": ["1"] } } }',
    "~/.codex/config.toml": '[mcp_servers.files]\ncommand = "y"\n[mcp_servers.same]\nargs = ["1"]\ncommand = "a"',
  });
  match(
    await refusal(findConfigured("files", undefined, io)),
    /different server in .*mcp\.json, .*config\.toml; write one of cursor:files, codex:files/,
  );
  equal(((await findConfigured("codex:files", undefined, io)).target as { command: string }).command, "y");
  equal(((await findConfigured("same", undefined, io)).target as { command: string }).command, "a");
  match(await refusal(findConfigured("fils", undefined, io)), /no configured server "fils"; did you mean "files"\?/);
});

test("a file of the project comes before those of the user, and comments are read", async (t) => {
  const io = world(t, {
    ".vscode/mcp.json": '{ // mine\n "servers": { "files": { "command": "near", }, }, }',
    "~/.cursor/mcp.json": '{ "mcpServers": { "files": { "command": "far" } } }',
  });
  equal(((await findConfigured("files", undefined, io)).target as { command: string }).command, "near");
  equal(((await findConfigured("cursor:files", undefined, io)).target as { command: string }).command, "far");
});

test("the text of an input, which a repository may have brought, controls no terminal", async (t) => {
  const cwd = emptyFolder(t);
  mkdirSync(join(cwd, ".vscode"));
  const input = { id: "key", type: "promptString", description: "key\u001b]0;title\u0007\u001b[2J" };
  const entry = { command: "no-such-program-here", env: { K: "$" + "{input:key}" } };
  writeFileSync(join(cwd, ".vscode", "mcp.json"), JSON.stringify({ inputs: [input], servers: { a: entry } }));
  const ran = await bowline(t, ["list", "a"], { cwd, tty: true, types: [[/key.*: /, "value\n"]] });
  equal(ran.code, 4, ran.stderr);
  match(ran.stderr, /key␛\]0;title␇␛\[2J: /);
});

test("variables and inputs are replaced; what is not set is named", async (t) => {
  const io = world(
    t,
    {
      ".vscode/mcp.json": JSON.stringify({
        inputs: [{ id: "key", type: "promptString" }],
        servers: {
          a: {
            command: "$" + "{workspaceFolder}/x",
            args: ["$" + "{env:A}", "$" + "{B:-b}"],
            env: { K: "$" + "{input:key}" },
          },
          b: { command: "$" + "{NONE}" },
          c: { command: "x", env: { K: "$" + "{input:other}" } },
        },
      }),
    },
    { A: "1", BOWLINE_INPUT_KEY: "2" },
  );
  const { target } = await findConfigured("a", undefined, io);
  deepEqual(target, { command: `${io.cwd}/x`, args: ["1", "b"], env: { K: "2" } });
  match(await refusal(findConfigured("b", undefined, io)), /server "b": the variable NONE is not set/);
  match(await refusal(findConfigured("c", undefined, io)), /set BOWLINE_INPUT_OTHER/);
});

test("a file that cannot be read leaves the others, and is named if a name is not found", async (t) => {
  const io = world(t, {
    "~/.cursor/mcp.json": '{\n "mcpServers": { secret }\n}',
    "~/.gemini/settings.json": '{ "mcpServers": { "a": { "command": "x" } } }',
    "~/.config/goose/config.yaml": "extensions:\n  g:\n    type: stdio\n    cmd: y\n",
  });
  const { servers, problems } = await readConfigured(undefined, io);
  deepEqual(
    servers.map(({ name }) => name),
    ["a", "g"],
  );
  equal(problems.length, 1);
  match(problems[0] ?? "", /\.cursor\/mcp\.json: is not valid JSON, line 2$/);
  match(await refusal(findConfigured("b", undefined, io)), /is not valid JSON, line 2/);
});

test("an entry with a mistake ends with one line and 2", async (t) => {
  const cwd = emptyFolder(t);
  writeFileSync(
    join(cwd, "mcp.json"),
    '{ "mcpServers": { "a": { "command": "x", "args": "no" }, "b": {}, "c": { "url": "ftp://x" } } }',
  );
  const told = async (name: string) => {
    const { code, stderr } = await bowline(t, ["list", name], { cwd });
    equal(code, 2);
    equal(stderr.split("\n").length, 2, stderr);
    return stderr;
  };
  match(await told("a"), /server "a": args must be an array of strings/);
  match(await told("b"), /server "b": command or url is missing/);
  match(await told("c"), /server "c": url must begin with http: or https:/);
});

test("a relative cwd is a path from the project, or from the folder of the file", async (t) => {
  const entry = (cwd: string) => JSON.stringify({ mcpServers: { [cwd]: { command: "x", cwd: `./${cwd}` } } });
  const io = world(t, {
    ".git/HEAD": "",
    "mcp.json": entry("root"),
    ".cursor/mcp.json": entry("hidden"),
    "below/own.json": entry("own"),
    "~/.cursor/mcp.json": entry("user"),
  });
  const below = { ...io, cwd: join(io.cwd, "below") };
  const folderOf = async (name: string, config?: string) =>
    ((await findConfigured(name, config, below)).target as { readonly cwd: string }).cwd;
  deepEqual(
    [await folderOf("root"), await folderOf("hidden"), await folderOf("user"), await folderOf("own", "own.json")],
    [join(io.cwd, "root"), join(io.cwd, "hidden"), join(io.home, ".cursor/user"), join(io.cwd, "below/own")],
  );
  const ran = await bowline(t, ["list", "root"], { cwd: below.cwd, home: io.home });
  deepEqual([ran.code, ran.stderr.includes(`"${join(io.cwd, "root")}" is not a directory`)], [4, true], ran.stderr);
});
