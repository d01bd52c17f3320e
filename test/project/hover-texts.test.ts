import { deepEqual, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = new URL("../../../", import.meta.url);

/** Returns the members of a class or interface in the declarations of the build, and whether each of its signatures has a text. */
function membersOf(file: string, name: string): ReadonlyMap<string, boolean> {
  const text = readFileSync(fileURLToPath(new URL(`dist/${file}.d.ts`, root)), "utf8");
  const [, body = ""] =
    new RegExp(`^export (?:declare )?(?:class|interface) ${name} [^\n]*{\n(.*?)^}`, "ms").exec(text) ?? [];
  const members = new Map<string, boolean>();
  let isTold = false;
  for (const line of body.split("\n")) {
    const [, member] = /^ {4}(?:readonly |get )*([\w$]+)[?<(:]/.exec(line) ?? [];
    if (member !== undefined) members.set(member, isTold && members.get(member) !== false);
    isTold = /\*\/$/.test(line);
  }
  return members;
}

for (const [file, name] of [
  ["server/context", "Context"],
  ["server/call-info", "CallInfo"],
  ["server/stats", "ServerStats"],
  ["http/auth-info", "AuthInfo"],
  ["client/cache/cache", "CacheStats"],
] as const) {
  test(`each member of ${name} has a text`, () => {
    const members = [...membersOf(file, name)];
    ok(members.length > 3, `${members.length} members`);
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
