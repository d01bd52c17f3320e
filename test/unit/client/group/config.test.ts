import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { test } from "node:test";
import { createGroup, DefinitionError, type ServersConfig } from "bowline/client";
import { readServers } from "bowline/node";
import { expandVariables, planServers } from "#src/client/group/config.js";

/** A variable as configurations write it. */
const v = (inside: string) => ["$", "{", inside, "}"].join("");

const open = async (config: unknown, variables: Record<string, string> = {}) => {
  const plans = planServers(config as ServersConfig);
  return Promise.all(plans.map(async (plan) => ({ name: plan.name, ...(await plan.open(variables)) })));
};

test("what hosts write down becomes targets", async () => {
  const config = {
    mcpServers: {
      files: { command: "npx", args: ["-y", "server", v("FOLDER")], env: { TOKEN: v("env:TOKEN") }, cwd: "/tmp" },
      web: { type: "http", url: "https://example.com/mcp", headers: { authorization: `Bearer ${v("TOKEN")}` } },
      old: { type: "sse", url: `http://127.0.0.1:1/${v("PLACE:-sse")}`, unknown: 1 },
      off: { command: "x", disabled: true },
    },
  };
  deepEqual(await open(config, { FOLDER: "/data", TOKEN: "t" }), [
    {
      name: "files",
      target: { command: "npx", args: ["-y", "server", "/data"], env: { TOKEN: "t" }, cwd: "/tmp" },
      options: {},
    },
    { name: "web", target: "https://example.com/mcp", options: { headers: { authorization: "Bearer t" } } },
    { name: "old", target: "http://127.0.0.1:1/sse", options: { headers: {}, sse: "any-4xx" } },
  ]);
  equal((await open({ servers: { a: { command: "x" } } })).length, 1);
});

test("what is wrong is said with its place", () => {
  const wrong: [unknown, RegExp][] = [
    [null, /^configuration: must be an object with mcpServers, got null$/],
    [{}, /^configuration: mcpServers is missing$/],
    [{ servers: [] }, /^configuration: servers must be an object .*, got an array$/],
    [{ mcpServers: [] }, /^configuration: mcpServers must be an object .*, got an array$/],
    [{ mcpServers: { a: 1 } }, /^configuration: server "a": must be an object with command or url, got number$/],
    [{ mcpServers: { a: {} } }, /server "a": command or url is missing$/],
    [{ mcpServers: { a: { type: "http" } } }, /server "a": url is missing$/],
    [{ mcpServers: { a: { type: "stdio" } } }, /server "a": command is missing$/],
    [
      { mcpServers: { a: { command: "x", url: "http://a" } } },
      /server "a": has both command and url; remove one of them$/,
    ],
    [{ mcpServers: { a: { command: 1 } } }, /server "a": command must be a string, got number$/],
    [{ mcpServers: { a: { command: "" } } }, /server "a": command is empty$/],
    [{ mcpServers: { a: { command: "x", args: "y" } } }, /server "a": args must be an array of strings, got string$/],
    [{ mcpServers: { a: { command: "x", args: ["y", 2] } } }, /server "a": args\[1\] must be a string, got number$/],
    [{ mcpServers: { a: { command: "x", env: { PORT: 1 } } } }, /server "a": env.PORT must be a string, got number$/],
    [{ mcpServers: { a: { command: "x", type: "http" } } }, /server "a": type must be "stdio" with command/],
    [{ mcpServers: { a: { url: "http://a", type: "ws" } } }, /server "a": type must be "http".* got "ws"$/],
    [{ mcpServers: { a: { url: "secret" } } }, /server "a": url must be an absolute URL with http: or https:$/],
    [{ mcpServers: { a: { url: "ftp://a" } } }, /server "a": url must begin with http: or https:, got ftp:$/],
    [
      { mcpServers: { a: { url: "http://a", headers: [] } } },
      /server "a": headers must be an object of strings, got an array$/,
    ],
    [
      { mcpServers: { a: { command: "x", disabled: "no" } } },
      /server "a": disabled must be true or false, got string$/,
    ],
    [{ mcpServers: { "": { command: "x" } } }, /server "": the name must not be empty$/],
    [{ source: "mcp.json", mcpServers: { a: {} } }, /^mcp.json: server "a": command or url is missing$/],
  ];
  for (const [config, message] of wrong) {
    throws(() => createGroup(config as ServersConfig), { name: "DefinitionError", message });
  }
});

test("variables", () => {
  const values = { A: "1", EMPTY: "", NESTED: v("A") };
  const text = [v("A"), v("env:A"), v("B:-b"), v("EMPTY:-e"), v("NESTED"), "$A", "{A}"].join(" ");
  equal(expandVariables(text, values, "x"), `1 1 b e ${v("A")} $A {A}`);
  equal(
    expandVariables(v("input:key"), (name) => `<${name}>`, "x"),
    "<input:key>",
  );
  throws(() => expandVariables(v("NO"), values, 'server "a": args[0]'), {
    name: "DefinitionError",
    message: 'server "a": args[0]: the variable "NO" is not set (option variables)',
  });
  throws(() => expandVariables(v("toString"), values, "x"), DefinitionError);
});

test("a variable that is not set concerns its own server, when that is needed", async () => {
  await using group = createGroup(
    { source: "mcp.json", mcpServers: { a: { url: "http://127.0.0.1:1/mcp", headers: { key: v("NO_SUCH_KEY") } } } },
    { variables: {} },
  );
  await rejects(group.client("a"), (error: Error) => {
    match(error.message, /Server "a" is not available .*mcp.json: server "a": headers.key: the variable "NO_SUCH_KEY"/);
    return true;
  });
});

test("a file", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "bowline-group-"));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "mcp.json");
  await writeFile(
    path,
    `\uFEFF{
  // The one that "everybody" has
  "mcpServers": { /* "no": {}, */
    "web": { "url": "https://example.com/a//b", },
  },
}`,
  );
  const config = await readServers(path);
  deepEqual(await open(config), [{ name: "web", target: "https://example.com/a//b", options: { headers: {} } }]);
  equal(config.source, path);

  await writeFile(path, '{\n  "mcpServers": {\n    "a": { "url": secret }\n  }\n}');
  await rejects(readServers(path), (error: Error) => {
    equal(error.name, "DefinitionError");
    match(error.message, /mcp\.json: is not valid JSON(, line 3)?$/);
    return true;
  });
  await writeFile(path, '{ "mcpServers": { "a": { "command": ["x"] } } }');
  await rejects(readServers(path), { message: `${path}: server "a": command must be a string, got an array` });
  await writeFile(path, "[]");
  await rejects(readServers(path), { message: `${path}: must be an object with mcpServers` });
  await rejects(readServers(join(folder, "none.json")), /none\.json: cannot be read \(ENOENT\)/);
});

test("a relative cwd is a path from the folder of the file", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "config-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "mcp.json");
  const absolute = join(folder, "other");
  const cwds = ["sub", "./sub/../own", absolute, v("PLACE"), `a/${v("NAME")}`];
  const entries = Object.fromEntries(cwds.map((cwd, index) => [`s${index}`, { command: "x", cwd }]));
  for (const member of ["mcpServers", "servers"]) {
    await writeFile(file, JSON.stringify({ [member]: { ...entries, none: { command: "x" } } }));
    for (const path of [file, relative(process.cwd(), file)]) {
      const opened = await open(await readServers(path), { PLACE: "/place", NAME: "b" });
      deepEqual(
        opened.map(({ target }) => (target as { readonly cwd?: string }).cwd),
        [join(folder, "sub"), join(folder, "own"), absolute, "/place", join(folder, "a", "b"), undefined],
      );
    }
  }
  await writeFile(file, JSON.stringify({ mcpServers: { a: { command: process.execPath, cwd: "missing" } } }));
  const group = createGroup(await readServers(file));
  t.after(() => group.close());
  await rejects(group.callTool("a__x", {}), (error: Error) => {
    match(
      String((error.cause as Error).message),
      new RegExp(`working directory "${join(folder, "missing")}" is not a directory`),
    );
    return true;
  });
});
