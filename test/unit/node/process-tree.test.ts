import { deepEqual, equal } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { endTreeWithHost } from "#src/node/process/tree.js";

/** A process that leads its group and waits. */
async function leader(t: TestContext) {
  const script = "process.stdout.write('up'); setInterval(() => {}, 1e6)";
  const started = spawn(process.execPath, ["-e", script], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  t.after(() => started.kill("SIGKILL"));
  const gone = once(started, "exit").then(([, signal]) => signal as string | null);
  await once(started.stdout, "data");
  return { pid: started.pid as number, gone };
}

test("a server that is closed leaves the exit hook to the server that is not", async (t) => {
  const before = process.listeners("exit");
  const hooks = () => process.listeners("exit").filter((listener) => !before.includes(listener));
  const [first, second] = [await leader(t), await leader(t)];
  const letFirstGo = endTreeWithHost(first.pid);
  const letSecondGo = endTreeWithHost(second.pid);
  t.after(letSecondGo);
  equal(hooks().length, 1);
  letFirstGo();
  letFirstGo();
  equal(hooks().length, 1);
  // The host exits.
  for (const hook of hooks()) hook(0);
  equal(await second.gone, "SIGTERM");
  equal(process.kill(first.pid, 0), true, "the server that was closed is not ended again");
  letSecondGo();
  deepEqual(hooks(), []);
});
