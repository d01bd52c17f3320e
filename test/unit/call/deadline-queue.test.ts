import { deepEqual, equal, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { type Deadline, shareTimer, type Waiting } from "#src/call/deadline-queue.js";
import { CallLifetime } from "#src/call/lifetime.js";

const ms = 30;

type Wait = Deadline<Waiting>;

function wait(onTime: () => void): Wait {
  return shareTimer({ onTime }, ms, performance.now()) as Wait;
}

test("each is told once, in order, and not before its time", async () => {
  const told: string[] = [];
  const began = performance.now();
  await new Promise<void>((resolve) => {
    wait(() => told.push("first"));
    wait(() => told.push("gone")).leave();
    wait(() => {
      told.push("last");
      resolve();
    });
  });
  deepEqual(told, ["first", "last"]);
  ok(performance.now() - began >= ms);
});

test("one that begins when the timer is half through waits as long as the others", async () => {
  const began: number[] = [];
  const waited: number[] = [];
  await new Promise<void>((resolve) => {
    const start = (then: () => void) => {
      const at = began.push(performance.now()) - 1;
      wait(() => {
        waited[at] = performance.now() - (began[at] ?? 0);
        then();
      });
    };
    start(() => {});
    setTimeout(() => start(resolve), ms / 2);
  });
  deepEqual(
    waited.map((time) => time >= ms),
    [true, true],
  );
});

test("one that is taken away while another is told is not told", async () => {
  const told: string[] = [];
  await new Promise<void>((resolve) => {
    let second: Wait | undefined;
    wait(() => {
      told.push("first");
      second?.leave();
    });
    second = wait(() => told.push("second"));
    wait(resolve);
  });
  deepEqual(told, ["first"]);
});

test("who is told may wait again, the last and one that is not", async () => {
  await new Promise<void>((resolve) => wait(() => wait(resolve)));
  await new Promise<void>((resolve) => {
    wait(() => wait(resolve));
    wait(() => {});
  });
});

test("timers that a test owns are used while it owns them, and no longer", async (t) => {
  const told: string[] = [];
  wait(() => told.push("never")).leave();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const mocked = new Promise<void>((resolve) => wait(resolve));
  const clock = t.mock.method(performance, "now", () => Number.MAX_SAFE_INTEGER);
  t.mock.timers.tick(ms);
  await mocked;
  clock.mock.restore();
  wait(() => told.push("never")).leave();
  t.mock.timers.reset();
  await new Promise<void>((resolve) => wait(resolve));
  deepEqual(told, []);
});

test("calls of different limits end each at its own", async () => {
  const scopes = Array.from({ length: 20 }, (_, index) => new CallLifetime("call", { timeoutMs: 10 + index }));
  const ended = scopes.map((scope) => new Promise((resolve) => scope.onAbort(resolve)));
  const errors = (await Promise.all(ended)) as Error[];
  deepEqual(
    errors.map(({ message }) => message),
    scopes.map((_, index) => `call: nothing received for ${10 + index} ms (timeoutMs)`),
  );
});

const lifetimeUrl = import.meta.resolve("#src/call/lifetime.js");

/** What a process writes that runs this code when there has been a call, and ends when nothing keeps it. */
async function outputOf(code: string, before = ""): Promise<string> {
  const script = `
    ${before}
    const { CallLifetime } = await import(${JSON.stringify(lifetimeUrl)});
    new CallLifetime("before", { timeoutMs: 600_000 }).close();
    await new Promise(setImmediate);
    ${code}`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
  return stdout;
}

test("a process lives as long as a call waits", async () => {
  const code = `
    new CallLifetime("first", { timeoutMs: 50 }).close();
    new CallLifetime("second", { timeoutMs: 50 }).onAbort((reason) => console.log(reason.message));`;
  equal(await outputOf(code), "second: nothing received for 50 ms (timeoutMs)\n");
});

test("a process does not wait for the limits of calls that have ended", async () => {
  const code = `
    const scopes = [1, 2, 3].map(() => new CallLifetime("call", { timeoutMs: 600_000 }));
    for (const scope of scopes) scope.close();
    new CallLifetime("call", { timeoutMs: 600_000 }).close();
    process.on("exit", () => console.log(process.uptime() < 300));`;
  equal(await outputOf(code), "true\n");
});

test("what one listener throws is thrown, and the other calls end", async () => {
  const code = `
    process.on("uncaughtException", (error) => console.log("thrown", error.message));
    new CallLifetime("first", { timeoutMs: 20 }).onAbort(() => { throw new Error("mine"); });
    new CallLifetime("second", { timeoutMs: 20 }).onAbort(() => console.log("ended"));`;
  deepEqual((await outputOf(code)).trim().split("\n").sort(), ["ended", "thrown mine"]);
});

/** Tells how many timers three calls at once take. */
const COUNT_TIMERS = `
  const set = setTimeout;
  let timers = 0;
  globalThis.setTimeout = (...args) => {
    timers++;
    return set(...args);
  };
  const scopes = [1, 2, 3].map(() => new CallLifetime("call", { timeoutMs: 600_000 }));
  for (const scope of scopes) scope.close();
  console.log(timers);`;

test("calls share a timer where none ends with what set it", async () => {
  const elsewhere = 'Object.defineProperty(process, "versions", { value: {} });';
  deepEqual(await Promise.all([outputOf(COUNT_TIMERS), outputOf(COUNT_TIMERS, elsewhere)]), ["1\n", "3\n"]);
});
