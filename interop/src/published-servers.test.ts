import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { inFolder, publishedServer, publishedServers } from "./published-servers.js";

test("the list has 20 servers of exact versions, each once", () => {
  equal(publishedServers.length, 20);
  equal(new Set(publishedServers.map(({ name }) => name)).size, 20);
  for (const server of publishedServers) match(server.package, /^(?:@[\w-]+\/)?[\w-]+@\d+\.\d+\.\d+$/);
});

test("a server gets the path of its folder, also one with characters that JSON escapes", () => {
  const { env, calls } = inFolder(publishedServer("memory"), 'C:\\a"b');
  deepEqual(env, { MEMORY_FILE_PATH: 'C:\\a"b/memory.jsonl' });
  ok(calls?.some(({ tool }) => tool === "search_nodes"));
});
