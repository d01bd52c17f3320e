import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { tree } from "./tree.mjs";

/**
 * Runs a test file in the copy until its first failure: `{ ms, failure? }`. `failure` is the title of the test, or the
 * reason. A file that exceeds `timeoutMs` has failed, since a mutant may let a test wait for ever.
 */
export function runTests(path, { env = {}, timeoutMs }) {
  const begun = performance.now();
  return new Promise((resolve) => {
    const args = ["--max-old-space-size=1024", "--test-reporter=tap", path];
    const child = spawn(process.execPath, args, {
      cwd: tree,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "ignore"],
    });
    let failure;
    const fail = (reason) => {
      failure ??= reason;
      child.kill("SIGKILL");
    };
    const timer = setTimeout(() => fail("does not end"), timeoutMs);
    createInterface(child.stdout).on("line", (line) => {
      const title = /^\s*not ok \d+ - (.*)$/.exec(line)?.[1];
      if (title !== undefined) fail(title);
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      const reason = failure ?? (code === 0 ? undefined : `exit code ${code}`);
      resolve({ ms: Math.round(performance.now() - begun), ...(reason === undefined ? {} : { failure: reason }) });
    });
  });
}

/** Calls `work` for each item, `workers` at a time. */
export async function eachOf(items, workers, work) {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}
