import { deepEqual, equal, match, ok } from "node:assert/strict";
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { placeFor } from "#src/cli/hosts/install.js";
import { bowline, documentOf, emptyFolder } from "../../support/command.js";

/** File of each host with comments and a server, what is added to it, and the lines around it. */
const HOSTS: readonly (readonly [host: string, file: string, before: string, entry: object])[] = [
  [
    "claude-desktop",
    ".config/Claude/claude_desktop_config.json",
    '{\n  "mcpServers": {\n    "old": { "command": "y" }\n  }\n}\n',
    { command: "node", args: ["--flag"], env: { KEY: "$" + "{KEY}" } },
  ],
  [
    "claude-code",
    ".claude.json",
    '{\n  "numStartups": 3,\n  "mcpServers": {\n    "old": { "type": "stdio", "command": "y" }\n  }\n}\n',
    { type: "stdio", command: "node", args: ["--flag"], env: { KEY: "$" + "{KEY}" } },
  ],
  [
    "vscode",
    ".config/Code/User/mcp.json",
    '{\n\t// mine\n\t"inputs": [\n\t\t{ "type": "promptString", "id": "other" }, // keep\n\t],\n\t"servers": {\n\t\t"old": { "command": "y" }, /* and this */\n\t},\n}\n',
    { type: "stdio", command: "node", args: ["--flag"], env: { KEY: "$" + "{input:new-key}" } },
  ],
  [
    "cursor",
    ".cursor/mcp.json",
    '{\r\n    "mcpServers": {\r\n        "old": { "command": "y" } // mine\r\n    }\r\n}',
    { command: "node", args: ["--flag"], env: { KEY: "$" + "{env:KEY}" } },
  ],
  [
    "windsurf",
    ".codeium/windsurf/mcp_config.json",
    '{"mcpServers":{"old":{"command":"y"}}}',
    { command: "node", args: ["--flag"], env: { KEY: "$" + "{env:KEY}" } },
  ],
  [
    "gemini",
    ".gemini/settings.json",
    '{\n  "theme": "x", // dark\n  "mcpServers": { "old": { "command": "y" } }\n}\n',
    { command: "node", args: ["--flag"], env: { KEY: "$" + "{KEY}" } },
  ],
  [
    "codex",
    ".codex/config.toml",
    'model = "o3" # mine\n\n[mcp_servers.old]\ncommand = "y"\n\n[tui]\ntheme = "x"\n',
    { command: "node", args: ["--flag"], env_vars: ["KEY"] },
  ],
  [
    "opencode",
    ".config/opencode/opencode.jsonc",
    '{\n  "mcp": {\n    "old": { "type": "local", "command": ["y"] }, // mine\n  },\n}\n',
    { type: "local", command: ["node", "--flag"], environment: { KEY: "{env:KEY}" }, enabled: true },
  ],
  [
    "goose",
    ".config/goose/config.yaml",
    "GOOSE_MODEL: x # mine\nextensions:\n  old:\n    type: stdio\n    cmd: y\n    # below\n",
    {
      type: "stdio",
      cmd: "node",
      args: ["--flag"],
      envs: {},
      env_keys: ["KEY"],
      name: "new",
      enabled: true,
      timeout: 300,
    },
  ],
];

function write(home: string, path: string, text: string): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const read = (file: string) => readFileSync(file, "utf8");

for (const [host, path, before, entry] of HOSTS) {
  test(`${host}: twice is once, no value is written, and without the server the file is as it was`, async (t) => {
    const home = emptyFolder(t);
    const file = write(home, path, before);
    const options = { home, platform: "linux", env: { KEY: "sk-secret" } } as const;
    const line = [
      "install",
      "--in",
      host,
      "--name",
      "new",
      "--env",
      "KEY=sk-secret",
      "--json",
      "--yes",
      "--",
      "node",
      "--flag",
    ];
    // What follows -- is the command.
    const first = documentOf(await bowline(t, line, options), "installed") as {
      result: { written: boolean; entry: object };
    };
    deepEqual([first.result.written, first.result.entry], [true, entry]);
    const after = read(file);
    ok(!after.includes("sk-secret"));
    for (const comment of before.match(/\/\/.*|\/\*.*\*\/|# .*/g) ?? []) ok(after.includes(comment.trim()), comment);
    equal(read(`${file}.bowline.bak`), before);
    const again = documentOf(await bowline(t, line, options), "installed") as { result: { written: boolean } };
    deepEqual([again.result.written, read(file)], [false, after]);
    const { stdout, stderr } = await bowline(t, ["list"], options);
    match(stdout, new RegExp(`${host}:new +node`), stderr);
    match(stdout, new RegExp(`${host}:old +y`));
    const gone = await bowline(t, ["install", "--remove", "new", "--in", host, "--yes"], options);
    deepEqual([gone.code, read(file)], [0, before], gone.stderr);
  });

  test(`${host}: a file that is not there is made, and an empty list becomes empty again`, async (t) => {
    const line = ["install", "--in", host, "--name", "new", "--yes", "--", "node", "--flag"];
    const fresh = { home: emptyFolder(t), platform: "linux" } as const;
    equal((await bowline(t, line, fresh)).code, 0);
    match((await bowline(t, ["list"], fresh)).stdout, new RegExp(`${host}:new +node`));
    const home = emptyFolder(t);
    const options = { home, platform: "linux" } as const;
    const empty = { toml: 'model = "x"', yaml: "extensions: {}\n", json: '{ "theme": 1, /* x */ }', jsonc: "{}" };
    const file = write(home, path, empty[path.split(".").at(-1) as keyof typeof empty]);
    const before = read(file);
    equal((await bowline(t, line, options)).code, 0);
    ok(read(file) !== before);
    equal((await bowline(t, ["install", "--remove", "new", "--in", host, "--yes"], options)).code, 0);
    equal(read(file), before);
  });
}

test("the file of each host on Linux, macOS and Windows, and of a project", () => {
  const io = (platform: NodeJS.Platform, home: string) =>
    ({ platform, home, cwd: home, env: {} }) as unknown as Parameters<typeof placeFor>[2];
  equal(
    placeFor("claude-desktop", false, io("darwin", "/Users/a")).file,
    "/Users/a/Library/Application Support/Claude/claude_desktop_config.json",
  );
  equal(
    placeFor("vscode", false, io("win32", "C:\\Users\\a")).file,
    "C:\\Users\\a\\AppData\\Roaming\\Code\\User\\mcp.json",
  );
  equal(placeFor("opencode", false, io("linux", "/home/a")).file, "/home/a/.config/opencode/opencode.json");
  equal(placeFor("vscode", true, io("linux", "/home/a")).file, "/home/a/.vscode/mcp.json");
  equal(placeFor("cursor", true, io("win32", "C:\\a")).file, "C:\\a\\.cursor\\mcp.json");
});

/** Runs `install` in a home of its own, with a file of Cursor. */
async function inCursor(t: TestContext, text: string | undefined, ...more: readonly string[]) {
  const home = emptyFolder(t);
  const file = text === undefined ? join(home, ".cursor/mcp.json") : write(home, ".cursor/mcp.json", text);
  const ran = await bowline(t, ["install", ...more, "--in", "cursor"], { home, cwd: home, platform: "linux" });
  return { ...ran, file, home };
}

test("a URL, a package, a file and a configured server", async (t) => {
  const entryOf = async (...line: string[]) => {
    const { stdout, stderr } = await inCursor(t, undefined, ...line, "--print");
    ok(stdout !== "", stderr);
    return JSON.parse(stdout).mcpServers;
  };
  deepEqual(
    await entryOf(
      "https://mcp.example.com/mcp",
      "--header",
      "Authorization: Bearer abc",
      "--header",
      "X-Key: $" + "{K}",
    ),
    {
      example: {
        url: "https://mcp.example.com/mcp",
        headers: { Authorization: "Bearer $" + "{env:EXAMPLE_TOKEN}", "X-Key": "$" + "{env:K}" },
      },
    },
  );
  deepEqual(await entryOf("npm:@example/server-files@1"), {
    files: { command: "npx", args: ["-y", "@example/server-files@1"] },
  });
  const home = emptyFolder(t);
  const file = write(home, "notes.js", "");
  write(
    home,
    "mcp.json",
    '{ "mcpServers": { "shared": { "command": "x", "cwd": "sub", "env": { "API_KEY": "sk-1", "LOG": "all", "T": "$' +
      '{env:T}" } } } }',
  );
  const options = { home, cwd: home, platform: "linux" } as const;
  const printed = async (...line: string[]) =>
    JSON.parse((await bowline(t, ["install", ...line, "--in", "cursor", "--print"], options)).stdout).mcpServers;
  const { notes } = (await printed("notes.js")) as { notes: { command: string; args: string[] } };
  deepEqual([notes.command, notes.args.at(-1)], [process.execPath, file]);
  deepEqual(await printed("notes.js", "--project"), { notes: { command: "node", args: ["notes.js"] } });
  deepEqual(await printed("mcp:shared"), {
    shared: {
      command: "x",
      env: { API_KEY: "$" + "{env:API_KEY}", LOG: "all", T: "$" + "{env:T}" },
      cwd: join(home, "sub"),
    },
  });
});

test("headers as each host takes them from its own variables", async (t) => {
  const printed = async (host: string) =>
    (
      await bowline(t, [
        "install",
        "https://a.example/mcp",
        "--in",
        host,
        "--header",
        "Authorization: Bearer x",
        "--print",
      ])
    ).stdout;
  equal(await printed("codex"), '[mcp_servers.a]\nurl = "https://a.example/mcp"\nbearer_token_env_var = "A_TOKEN"\n');
  deepEqual(JSON.parse(await printed("vscode")), {
    inputs: [{ type: "promptString", id: "a-a-token", description: "A_TOKEN of a", password: true }],
    servers: {
      a: { type: "http", url: "https://a.example/mcp", headers: { Authorization: "Bearer $" + "{input:a-a-token}" } },
    },
  });
  deepEqual(JSON.parse(await printed("opencode")).mcp.a.headers, { Authorization: "Bearer {env:A_TOKEN}" });
  deepEqual(JSON.parse(await printed("gemini")).mcpServers.a.httpUrl, "https://a.example/mcp");
  deepEqual(JSON.parse(await printed("windsurf")).mcpServers.a.serverUrl, "https://a.example/mcp");
  match(
    await printed("goose"),
    /type: streamable_http\n {4}uri: https:\/\/a\.example\/mcp\n[\s\S]*env_keys:\n {6}- A_TOKEN/,
  );
});

test("mistakes end with 2, and nothing is written", async (t) => {
  const told = async (text: string | undefined, ...line: string[]) => {
    const { code, stderr, file, home } = await inCursor(t, text, ...line);
    equal(code, 2, stderr);
    if (text === undefined) equal(readdirSync(home).length, 0);
    else deepEqual([read(file), readdirSync(dirname(file)).length], [text, 1]);
    return stderr;
  };
  const broken = '{\n "mcpServers": { secret }\n}';
  const brokenTold = await told(broken, "https://a.example", "--yes");
  match(brokenTold, /mcp\.json: is not valid JSON, line 2\n/);
  ok(!brokenTold.includes("secret"));
  match(await told('{ "mcpServers": [] }', "https://a.example", "--yes"), /mcpServers must be an object/);
  match(
    await told('{ "mcpServers": { "a": { "command": "x" } } }', "https://a.example", "--yes"),
    /has another server "a"; choose --name, or remove it first: bowline install --remove a --in cursor/,
  );
  match(
    await told('{ "mcpServers": { "notes": {} } }', "--remove", "nots", "--yes"),
    /no server "nots"; did you mean "notes"\?/,
  );
  match(await told("{}", "https://a.example"), /nothing was written; it is written with --yes/);
  match(await told(undefined, "--yes"), /needs a server/);
  match(await told(undefined, "https://a.example", "--env", "A", "--yes"), /--env is for a process/);
  match(await told(undefined, "--remove", "a", "--print"), /--print is not for --remove/);
  const unknown = await bowline(t, ["install", "https://a.example", "--in", "cursr"]);
  deepEqual([unknown.code, /no host "cursr"; did you mean "cursor"\?/.test(unknown.stderr)], [2, true]);
  match(
    (await bowline(t, ["install", "https://a.example"])).stderr,
    /write --in <host>; the hosts are claude-desktop,/,
  );
  match(
    (await bowline(t, ["install", "https://a.example", "--in", "codex", "--project"])).stderr,
    /codex has no file of a project/,
  );
  match((await bowline(t, ["install", "https://a.example", "--in", "claude-desktop"])).stderr, /takes only commands/);
  const inline = emptyFolder(t);
  write(inline, ".codex/config.toml", 'mcp_servers = { a = { command = "x" } }\n');
  match(
    (await bowline(t, ["install", "https://b.example", "--in", "codex", "--yes"], { home: inline })).stderr,
    /written in one line/,
  );
});

test("on a terminal the difference is shown without what is around it, and a yes writes", async (t) => {
  const home = emptyFolder(t);
  const text = '{ "mcpServers": { "old": { "command": "y", "env": { "K": "sk-old" } } } }';
  const file = write(home, ".cursor/mcp.json", text);
  const run = (answer: string) =>
    bowline(t, ["install", "https://a.example/mcp", "--in", "cursor"], {
      home,
      tty: true,
      types: [[/Write this\? \(y\/n\) /, answer]],
    });
  const declined = await run("n\n");
  deepEqual([declined.code, read(file)], [2, text]);
  match(declined.stderr, /\+ {2}"a": \{"url":"https:\/\/a\.example\/mcp"\}/);
  ok(!declined.stderr.includes("sk-old"));
  equal((await run("y\n")).code, 0);
  equal(JSON.parse(read(file)).mcpServers.a.url, "https://a.example/mcp");
});

test("a linked file stays a link, and keeps its mode", { skip: process.platform === "win32" }, async (t) => {
  const home = emptyFolder(t);
  const real = write(home, "dotfiles/mcp.json", "{}");
  mkdirSync(join(home, ".cursor"));
  const link = join(home, ".cursor/mcp.json");
  symlinkSync(real, link);
  const mode = lstatSync(real).mode;
  equal((await bowline(t, ["install", "https://a.example/mcp", "--in", "cursor", "--yes"], { home })).code, 0);
  ok(lstatSync(link).isSymbolicLink());
  deepEqual([lstatSync(real).mode, Object.keys(JSON.parse(read(real)).mcpServers)], [mode, ["a"]]);
});
