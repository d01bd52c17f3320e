import { deepEqual, equal, ok } from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Cluster } from "#src/cluster/cluster.js";
import { dataOf } from "#src/testing/contract/logs.js";
import { collect, type Scope, until, wait } from "#src/testing/contract/world.js";
import type { Ack } from "../../support/engines/file-writer.js";
import { SqliteWorld } from "../../support/engines/sqlite-world.js";

const PROGRAM = fileURLToPath(new URL("../../support/engines/file-writer.js", import.meta.url));
const KILLS = 5;

/** Process that writes, with the operations that were acknowledged to it. */
interface Writing {
  readonly name: string;
  readonly acks: { appended: number; counted: number };
  stop(): Promise<void>;
  kill(): Promise<void>;
}

async function start(t: Scope, path: string, name: string): Promise<Writing> {
  const child = fork(PROGRAM, [path, name]);
  t.after(() => child.kill("SIGKILL"));
  const acks = { appended: 0, counted: 0 };
  const exit = once(child, "exit");
  let isReady = false;
  child.on("message", (ack: Ack) => {
    isReady ||= ack.kind === "ready";
    if (ack.kind === "appended") acks.appended = ack.seq + 1;
    if (ack.kind === "counted") acks.counted++;
  });
  await until(() => isReady || child.exitCode !== null, `${name} is ready`);
  const end = async (tell: () => unknown) => {
    tell();
    await exit;
  };
  return { name, acks, stop: () => end(() => child.send("stop")), kill: () => end(() => child.kill("SIGKILL")) };
}

const textsOf = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name} ${at}`);
const counted = async ({ records }: Cluster) => Number((await records.get("counter"))?.value ?? 0);

/** Opens a node of this process. */
async function open(t: Scope, world: SqliteWorld): Promise<Cluster> {
  const node = await world.node();
  t.after(() => node.close());
  return node;
}

test("three processes write at once, and nothing is lost or doubled", { timeout: 240_000 }, async (t) => {
  const world = new SqliteWorld(t);
  const writers = await Promise.all(["a", "b", "c"].map((name) => start(t, world.path, name)));
  const node = await open(t, world);
  const followed = writers.map(({ name }) =>
    collect(node.logs.follow("log", name, undefined, new AbortController().signal)),
  );
  await until(() => writers.every(({ acks }) => acks.counted >= 100), "each process has written");
  await Promise.all(writers.map((writer) => writer.stop()));
  for (const [at, { name, acks }] of writers.entries()) {
    await followed[at]?.reaches(acks.appended);
    deepEqual(
      followed[at]?.items.map(({ data }) => data),
      textsOf(name, acks.appended),
    );
  }
  equal(
    await counted(node),
    writers.reduce((sum, { acks }) => sum + acks.counted, 0),
  );
});

test("kill -9 of a writing process loses nothing that was acknowledged to it", { timeout: 240_000 }, async (t) => {
  const world = new SqliteWorld(t);
  const steady = await start(t, world.path, "steady");
  const victims: Writing[] = [];
  for (let kills = 0; kills < KILLS; kills++) {
    const victim = await start(t, world.path, `victim ${kills}`);
    victims.push(victim);
    await until(() => victim.acks.counted >= 10, "the process writes");
    await wait(Math.random() * 50);
    await victim.kill();
  }
  await steady.stop();
  const node = await open(t, world);
  for (const { name, acks } of [steady, ...victims]) {
    const found = (await dataOf(node, "log", name)) ?? [];
    const more = name === "steady" ? 0 : 1;
    ok(found.length >= acks.appended && found.length <= acks.appended + more, `${name}: ${found.length}`);
    deepEqual(found, textsOf(name, found.length));
  }
  const sure = [steady, ...victims].reduce((sum, { acks }) => sum + acks.counted, 0);
  const value = await counted(node);
  ok(value >= sure && value <= sure + KILLS, `${value} of ${sure} increments`);
});

test("the lease of a killed process is free after its life", { timeout: 240_000 }, async (t) => {
  const world = new SqliteWorld(t);
  const node = await open(t, world);
  const writer = await start(t, world.path, "a");
  equal(await node.leases.acquire("lease of a", 1_000), undefined);
  await writer.kill();
  await until(async () => (await node.leases.acquire("lease of a", 1_000)) !== undefined, "the lease is free");
});

test("the file is usable after all processes were killed", { timeout: 240_000 }, async (t) => {
  const world = new SqliteWorld(t);
  const writers = await Promise.all(["a", "b"].map((name) => start(t, world.path, name)));
  await until(() => writers.every(({ acks }) => acks.counted >= 20), "the processes write");
  await Promise.all(writers.map((writer) => writer.kill()));
  const node = await open(t, world);
  for (const { name, acks } of writers) {
    const found = (await dataOf(node, "log", name)) ?? [];
    ok(found.length >= acks.appended, `${name}: ${found.length} of ${acks.appended}`);
  }
  await node.records.put("after", "1");
});
