import { deepEqual, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = new URL("../../../", import.meta.url);

const declarationsOf = (file: string) => readFileSync(fileURLToPath(new URL(`dist/${file}.d.ts`, root)), "utf8");

/**
 * Returns the members of a class or interface in the declarations of the build, and whether each of its signatures has a
 * text. Options in options are members of an interface, too.
 */
function membersOf(file: string, name: string): ReadonlyMap<string, boolean> {
  const text = declarationsOf(file);
  const [, kind, body = ""] =
    new RegExp(`^export (?:declare )?(class|interface) ${name}\\b[^\n]*{\n(.*?)^}`, "ms").exec(text) ?? [];
  const members = new Map<string, boolean>();
  let isTold = false;
  let isInOptions = false;
  for (const line of body.split("\n")) {
    if (/^ {4}\S/.test(line)) isInOptions = kind === "interface" && /\?: \{$/.test(line);
    const [, indent, member] = /^( {4}| {8})(?:readonly |get )*([\w$]+)[?<(:]/.exec(line) ?? [];
    if (indent?.length === 8 && !isInOptions) continue;
    if (member !== undefined) members.set(member, isTold && members.get(member) !== false);
    isTold = /\*\/$/.test(line);
  }
  return members;
}

/** Types whose members users see most, by file, with those that they extend. */
const TYPES: readonly (readonly [file: string, ...types: readonly string[]])[] = [
  ["server/server", "Server"],
  ["server/options", "ServerSettings", "WithStateCodec", "WithStateKeys", "HttpServerOptions", "ServedConnection"],
  ["http/guard", "GuardOptions"],
  ["server/changes", "Changes", "ServerEdit"],
  ["server/definitions/access", "AccessOptions"],
  ["server/definitions/tool", "ToolOptions"],
  ["server/definitions/prompt", "PromptOptions"],
  ["server/definitions/resource", "ResourceOptions"],
  ["server/definitions/custom-method", "MethodOptions"],
  ["server/definitions/catalogue", "Editable"],
  ["server/extensions/extension", "ExtensionOptions", "ServerExtension"],
  ["server/context", "Context"],
  ["server/call-info", "CallInfo"],
  ["server/stats", "ServerStats"],
  ["http/auth-info", "AuthInfo"],
  ["node/http/serve", "ServeHttpOptions", "HealthPaths", "RunningHttpServer", "RunningHttpWorker"],
  ["node/stdio/serve", "ServeStdioOptions"],
  ["client/client", "Client"],
  ["client/options", "CallOptions", "ToolCallOptions", "TypedCallOptions", "ClientOptions", "CommandTarget"],
  ["client/server-types", "ReadOptions"],
  ["client/results", "ToolOutcome"],
  ["client/cache/cache", "CacheStats", "ClientCacheOptions"],
  ["client/subscriptions/watch", "Watch", "WatchFilter", "WatchOptions"],
  ["client/group/options", "GroupOptions"],
  ["client/group/group", "Group"],
  ["tasks/server/options", "TasksOptions"],
];

for (const [file, name] of TYPES.flatMap(([file, ...types]) => types.map((type) => [file, type] as const))) {
  test(`each member of ${name} has a text`, () => {
    // The text of a class is that of its constructor.
    const members = [...membersOf(file, name)].filter(([member]) => member !== "constructor");
    ok(members.length > 0, `${file} has no ${name}`);
    deepEqual(
      members.filter(([, isTold]) => !isTold).map(([member]) => member),
      [],
    );
  });
}

test("a context shows handlers what is for handlers", () => {
  const members = membersOf("server/context", "Context");
  deepEqual(
    ["endingWith", "aborted", "canAskForMore", "open", "detachStream", "constructor"].filter((name) =>
      members.has(name),
    ),
    [],
  );
});

/** What users write most, by file. */
const MOST_USED: readonly (readonly [file: string, ...names: readonly string[]])[] = [
  ["entry/server", "McpServer"],
  ["server/server", "tool", "prompt", "resource"],
  ["server/context", "elicit", "step", "progress"],
  ["node/stdio/serve", "serveStdio"],
  ["node/http/serve", "serveHttp"],
  ["entry/client", "connect", "createGroup"],
  ["client/client", "callTool"],
  ["auth/server/protect", "protect"],
  ["tasks/server/extension", "tasks"],
];

for (const [file, ...names] of MOST_USED) {
  test(`editors show an example of ${names.join(", ")}`, () => {
    const declared = [
      ...declarationsOf(file).matchAll(
        /\/\*\*(?<text>(?:(?!\*\/)[\s\S])*)\*\/\n *(?:(?:export|declare|class|function|const) )*(?<name>\w+)/g,
      ),
    ];
    for (const name of names) {
      const texts = declared.filter(({ groups }) => groups?.name === name).map(({ groups }) => groups?.text ?? "");
      ok(
        texts.some((text) => text.includes("* ```ts\n")),
        name,
      );
    }
  });
}
