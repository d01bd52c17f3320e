import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect } from "@nats-io/transport-node";
import type { ClusterError } from "#src/cluster/error.js";
import type { NatsClient } from "#src/nats/client.js";
import { type NatsClusterOptions, natsCluster } from "#src/nats/nats-cluster.js";
import { DefinitionError } from "#src/protocol/errors.js";
import { failureOf, until } from "../../contract/world.js";
import { startNats } from "../../support/engines/nats.js";
import { clientOf } from "./world.js";

async function serverOf(t: TestContext, settings?: string) {
  const server = await startNats(settings);
  t.after(() => server.end());
  return server;
}

/** Starts a cluster. Returns it with its warnings and the error of its start. */
async function started(t: TestContext, client: NatsClient, options: Partial<NatsClusterOptions> = {}) {
  const warnings: string[] = [];
  const cluster = natsCluster({ client, logger: { warn: (message) => warnings.push(message) }, ...options });
  t.after(() => cluster.close());
  const error = await cluster.ready.then(
    () => undefined,
    (error: ClusterError) => error,
  );
  return { cluster, warnings, error };
}

/** Sends a request to the API of JetStream. */
async function ask(url: string, path: string, request: object = {}) {
  const connection = await connect({ servers: url });
  const reply = await connection.request(`$JS.API.${path}`, JSON.stringify(request));
  await connection.close();
  return reply.json<{ config: Record<string, unknown>; error?: unknown; state: { messages: number } }>();
}

test("a cluster starts before its engine", async (t) => {
  const server = await serverOf(t);
  await server.kill();
  const { cluster, error } = await started(t, clientOf(server.url));
  equal(error?.failure, "unavailable");
  match(error?.message ?? "", /start: NATS cannot be reached/);
  equal(cluster.available, false);
  await server.start();
  await until(() => cluster.available, "the cluster is available");
  ok(await cluster.records.put("k", "v"));
});

test("a server without JetStream is refused with the remedy", async (t) => {
  const server = await serverOf(t, "");
  const { cluster, error } = await started(t, clientOf(server.url));
  equal(error?.failure, "refused");
  match(error?.message ?? "", /has no JetStream; start nats-server with -js/);
  equal(await failureOf(() => cluster.records.get("k")), "refused");
});

test("a missing right is named at the start", async (t) => {
  const rights = {
    publish: ["$JS.API.>", "$JS.FC.>", "bowline.documents.>", "bowline.bus"],
    subscribe: ["_INBOX.>", "bowline.bus"],
  };
  const without = async (operation: "publish" | "subscribe", subject: string) => {
    const folder = mkdtempSync(join(tmpdir(), "bowline-nats-rights-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const left = { ...rights, [operation]: rights[operation].filter((other) => other !== subject) };
    const server = await serverOf(
      t,
      `jetstream { store_dir: "${folder}" }
      authorization: { users: [{ user: u, password: p, permissions: ${JSON.stringify(left)} }] }
      no_auth_user: u`,
    );
    return started(t, clientOf(server.url));
  };
  for (const [operation, subject, named] of [
    ["subscribe", "bowline.bus", "bowline.bus"],
    ["publish", "bowline.bus", "bowline.bus"],
    ["publish", "$JS.API.>", "$JS.API.STREAM.INFO.bowline_documents"],
    ["publish", "bowline.documents.>", "bowline.documents.plain.clock._"],
    ["subscribe", "_INBOX.>", "_INBOX."],
  ] as const) {
    const { error, cluster } = await without(operation, subject);
    equal(error?.failure, "refused", subject);
    ok(error?.message.includes(`has no right to ${operation} to ${named}`), error?.message);
    match(error?.message ?? "", /; grant it in the configuration of NATS$/);
    equal(cluster.available, false);
  }
  const { error, cluster } = await without("publish", "none");
  equal(error, undefined);
  await cluster.logs.create("l", { keepMs: 10_000, maxEntries: 10, maxBytes: 1e9 });
  await rejects(() => cluster.logs.claim("l", "s") as Promise<unknown>, {
    failure: "refused",
    message: /^claim a stream: the user of the connection has no right to publish to bowline\.entries\.\d+; grant it/,
  });
  equal(cluster.available, true);
});

test("a server that takes small messages only is refused with the remedy", async (t) => {
  const server = await serverOf(t, "max_payload: 4096");
  const { error } = await started(t, clientOf(server.url));
  equal(error?.failure, "refused");
  match(error?.message ?? "", /max_payload of the NATS server is 4096; raise it to 65536 or more/);
});

test("a text that is larger than max_payload is refused, and the connection stays", async (t) => {
  const server = await serverOf(t);
  const { cluster } = await started(t, clientOf(server.url));
  const text = "x".repeat(1_048_577);
  await cluster.logs.create("l", { keepMs: 10_000, maxEntries: 10, maxBytes: 1e9 });
  const writer = await cluster.logs.claim("l", "s");
  equal(await failureOf(() => cluster.records.put("k", text)), "refused");
  equal(await failureOf(() => cluster.bus.publish("t", text)), "refused");
  equal(await failureOf(() => writer.append(0, text)), "refused");
  equal(await failureOf(() => cluster.records.put("k".repeat(5_000), "v")), "refused");
  await rejects(async () => cluster.records.put("k", text), {
    name: "ClusterError",
    message: /^put a record: the message has 1048\d{3} bytes; raise max_payload of the NATS server, which is 1048576$/,
  });
  const longest = "x".repeat(1_048_300);
  await cluster.records.put("longest", longest);
  equal((await cluster.records.get("longest"))?.value, longest);
  equal(cluster.available, true);
  ok(await writer.append(0, "short"));
});

test("an old server is refused", async (t) => {
  const server = await serverOf(t);
  const client = clientOf(server.url);
  const old: NatsClient = { open: async (...args) => ({ ...(await client.open(...args)), version: "2.8.4" }) };
  const { error } = await started(t, old);
  equal(error?.failure, "refused");
  match(error?.message ?? "", /version 2\.8\.4; version 2\.9 or newer is needed/);
});

test("streams without direct reads are created once, and used by the next node", async (t) => {
  const server = await serverOf(t);
  const first = await started(t, clientOf(server.url), { prefix: "p" });
  const second = await started(t, clientOf(server.url), { prefix: "p" });
  deepEqual([first.error, second.error, first.warnings, second.warnings], [undefined, undefined, [], []]);
  const { config } = await ask(server.url, "STREAM.INFO.p_documents");
  const { allow_direct, max_msgs_per_subject, num_replicas, description } = config;
  deepEqual([allow_direct, max_msgs_per_subject, num_replicas, description], [false, 1, 1, "bowline 1"]);
});

test("nodes that start together create the streams together", async (t) => {
  const server = await serverOf(t);
  for (let round = 0; round < 10; round++) {
    const start = () => started(t, clientOf(server.url), { prefix: `p${round}` });
    const nodes = await Promise.all([start(), start(), start(), start()]);
    deepEqual(
      nodes.map(({ error }) => error),
      [undefined, undefined, undefined, undefined],
    );
  }
});

test("streams of a later release, of others, or with other settings are refused", async (t) => {
  const server = await serverOf(t);
  const stream = (prefix: string, settings: object) =>
    ask(server.url, `STREAM.CREATE.${prefix}_documents`, {
      name: `${prefix}_documents`,
      subjects: [`${prefix}.documents.>`],
      max_msgs_per_subject: 1,
      ...settings,
    });
  const problem = async (prefix: string) => {
    const { error } = await started(t, clientOf(server.url), { prefix });
    equal(error?.failure, "refused");
    return error?.message ?? "";
  };
  await stream("later", { description: "bowline 2" });
  match(await problem("later"), /has version 2.*up to 1.*Upgrade/);
  await stream("other", {});
  match(await problem("other"), /was not created by a cluster; delete it, or use another prefix/);
  await stream("history", { description: "bowline 1", max_msgs_per_subject: 5 });
  match(await problem("history"), /has max_msgs_per_subject 5; set it to 1/);
  const own = { description: "bowline 1" };
  for (const [setting, value] of Object.entries({ max_msgs: 100, max_bytes: 100_000 })) {
    await stream(setting, { ...own, [setting]: value });
    match(
      await problem(setting),
      new RegExp(`has ${setting} ${value} and discard old, .*; set ${setting} to -1, or discard to new`),
    );
  }
  await stream("new", { ...own, max_bytes: 1_000_000, discard: "new" });
  equal((await started(t, clientOf(server.url), { prefix: "new" })).error, undefined);
  await stream("interest", { ...own, retention: "interest" });
  match(await problem("interest"), /has retention interest; set it to limits/);
  await stream("memory", { ...own, storage: "memory" });
  match(await problem("memory"), /has storage memory and one replica, .*; delete it/);
  for (const setting of ["deny_purge", "deny_delete", "no_ack"]) {
    await stream(setting, { ...own, [setting]: true });
    match(await problem(setting), new RegExp(`has ${setting} true; set it to false, or delete the stream`));
  }
  await ask(server.url, "STREAM.CREATE.all", { name: "all", subjects: ["taken.>"] });
  match(await problem("taken"), /taken\.documents\.> belong to another stream; use another prefix/);
});

test("a stream with another number of replicas is told and used", async (t) => {
  const server = await serverOf(t);
  await started(t, clientOf(server.url));
  const { warnings, error, cluster } = await started(t, clientOf(server.url), { replicas: 3 });
  equal(error, undefined);
  match(warnings[0] ?? "", /bowline_documents has 1 replicas, and the option replicas is 3/);
  ok(await cluster.records.put("k", "v"));
});

test("a prefix that cannot be part of a subject is refused", () => {
  for (const prefix of ["", "a.b", "a b", "ü", ">", "x".repeat(33)])
    throws(() => natsCluster({ client: clientOf("127.0.0.1:1"), prefix }), DefinitionError);
});

test("streams that are deleted while a cluster runs are created again", async (t) => {
  const server = await serverOf(t);
  const { cluster } = await started(t, clientOf(server.url), { heartbeatMs: 100 });
  await cluster.records.put("k", "v");
  await ask(server.url, "STREAM.DELETE.bowline_documents");
  await until(async () => {
    let version: string | undefined;
    await failureOf(async () => {
      version = await cluster.records.put("k", "again");
    });
    return version !== undefined;
  }, "a record is stored again");
  equal((await cluster.records.get("k"))?.value, "again");
});
