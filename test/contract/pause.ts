import { deepEqual, equal } from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Cluster, Lease } from "#src/cluster/cluster.js";
import { dataOf, openOf } from "#src/testing/contract/logs.js";
import { until } from "#src/testing/contract/world.js";
import type { Report } from "../support/engines/paused-node.js";

const PROGRAM = fileURLToPath(new URL("../support/engines/paused-node.js", import.meta.url));

/** Node of the test, and the arguments of a process that shares its state. */
export interface PauseWorld {
  readonly node: Cluster;
  readonly args: readonly [engine: string, url: string, space: string];
}

/** Registers the test of a process that is stopped for longer than its lease lives, and continued. */
export function pauseContract(name: string, open: (t: TestContext) => Promise<PauseWorld>): void {
  const title = `${name}: a process that is stopped for longer than its lease loses what others took, and works on`;
  test(title, { timeout: 240_000 }, async (t) => {
    const { node, args } = await open(t);
    const { child, reports, reported } = start(t, args);
    await reported("ready");
    const [{ node: other } = { node: "" }] = reports.filter((report) => report.event === "ready");
    equal(await node.leases.acquire("l", 60_000), undefined);

    child.kill("SIGSTOP");
    let lease: Lease | undefined;
    await until(async () => {
      lease = await node.leases.acquire("l", 60_000);
      return lease !== undefined;
    }, "the lease of the stopped process is free");
    deepEqual(await openOf(node, other), ["log/claimed", "log/own"]);
    const writer = await node.logs.claim("log", "claimed");
    await writer.append(0, "taken");
    deepEqual(
      reports.map(({ event }) => event),
      ["ready"],
    );
    child.kill("SIGCONT");

    await Promise.all([reported("lost"), reported("gap")]);
    child.send("work");
    await reported("done");
    const [done] = reports.filter((report) => report.event === "done");
    deepEqual(done?.outcome, {
      appendToClaimed: "fenced",
      appendToOwn: "ok",
      acquiresTaken: false,
      acquiresFree: true,
      value: "after",
    });
    deepEqual(await dataOf(node, "log", "claimed"), ["before", "taken"]);
    deepEqual(await dataOf(node, "log", "own"), ["before", "after"]);
    equal((await node.records.get("k"))?.value, "after");
    await node.bus.publish("t", "hello");
    await reported("heard");
    equal(lease?.lost.aborted, false);
  });
}

/** Starts the process, and collects its reports. */
function start(t: TestContext, args: readonly string[]) {
  const child: ChildProcess = fork(PROGRAM, args);
  t.after(() => child.kill("SIGKILL"));
  const reports: Report[] = [];
  child.on("message", (report: Report) => reports.push(report));
  const has = (event: Report["event"]) => reports.some((report) => report.event === event);
  const reported = async (event: Report["event"]) => {
    await until(() => has(event) || child.exitCode !== null, `the process reports ${event}`);
    equal(has(event), true, `the process ended before it reported ${event}`);
  };
  return { child, reports, reported };
}
