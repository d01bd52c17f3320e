import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Era } from "../driver.js";
import type { TaskDriver, TaskHandle, TaskReply } from "./driver.js";

/** A connection to a server of tasks, and a way to open another one to the same server. */
export interface TaskSession {
  readonly driver: TaskDriver;
  readonly era: Era;
  reopen(): Promise<TaskDriver>;
}

export type TaskChecks = Readonly<Record<string, (session: TaskSession) => Promise<void>>>;

/** Error code of the tool `failing`. */
export const FAILURE = 4050;

const POLL_MS = 50;

/** Checks of every server. */
export const taskChecks: TaskChecks = {
  announced: async ({ driver }) => ok(driver.announced),
  "plain tool": async ({ driver }) => deepEqual(await driver.call("plain"), good("plain")),
  call: async ({ driver }) => deepEqual(await driver.call("slow", { text: "ahoy" }), good("ahoy")),
  "required tool": async ({ driver }) => deepEqual(await driver.call("always"), good("always")),
  "several tasks": async ({ driver }) => {
    const texts = ["one", "two", "three", "four"];
    const replies = await Promise.all(texts.map((text) => driver.call("slow", { text })));
    deepEqual(replies, texts.map(good));
  },
  status: async ({ driver }) => {
    const task = await driver.start("slow", { text: "status" });
    notEqual(await task.status(), "cancelled");
    deepEqual(await task.result(), good("status"));
    equal(await task.status(), "completed");
  },
  "tool error": async ({ driver }) => {
    deepEqual(await driver.call("broken"), { text: "no paper", isError: true });
  },
  cancel: async ({ driver }) => {
    const key = crypto.randomUUID();
    const task = await driver.start("wait", { key });
    await driver.call("seen", { key, what: "started" });
    await task.cancel();
    await until(task, "cancelled");
    await driver.call("seen", { key, what: "cancelled" });
  },
};

/** Checks of servers whose tools may fail with a JSON-RPC error. */
export const errorChecks: TaskChecks = {
  error: async ({ driver }) => equal(await codeOf(driver, driver.call("failing")), FAILURE),
};

/** Checks of servers and clients with questions in tasks. */
export const questionChecks: TaskChecks = {
  question: async ({ driver }) => deepEqual(await driver.call("ask"), good("Hello, Ada!")),
  "two questions": async ({ driver }) => deepEqual(await driver.call("pair"), good("Ada and Ada")),
};

/** Checks of clients that take up tasks of other connections. */
export const resumeChecks: TaskChecks = {
  resume: async ({ driver, reopen }) => {
    const { id } = await driver.start("slow", { text: "later" });
    const other = await reopen();
    try {
      const task = await other.resume?.(id);
      deepEqual(await task?.result(), good("later"));
    } finally {
      await other.close();
    }
  },
};

/** Checks of the tasks of 2025-11-25. */
export const listChecks: TaskChecks = {
  list: async ({ driver }) => {
    const { id } = await driver.start("slow", { text: "listed" });
    ok((await driver.list?.())?.includes(id));
  },
};

/** Checks of a tool that becomes a task when it takes long. */
export const promotionChecks: TaskChecks = {
  "ends in time": async ({ driver }) => deepEqual(await driver.call("promoted", { ms: "0" }), good("promoted")),
  "takes long": async ({ driver }) => deepEqual(await driver.call("promoted", { ms: "400" }), good("promoted")),
};

function good(text: string): TaskReply {
  return { text, isError: false };
}

async function codeOf(driver: TaskDriver, call: Promise<unknown>): Promise<number | undefined> {
  return call.then(
    (reply) => Promise.reject(new Error(`answered with ${JSON.stringify(reply)}`)),
    (error: unknown) => driver.codeOf(error),
  );
}

async function until(task: TaskHandle, status: string): Promise<void> {
  while ((await task.status()) !== status) await sleep(POLL_MS);
}
