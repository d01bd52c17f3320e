import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { type Clock, connect } from "bowline/client";
import { systemClock } from "#src/call/clock.js";
import { NODE_NETWORK } from "#src/cli/doctor/network.js";
import { startProcess } from "#src/cli/doctor/process-server.js";
import { examine, type Report } from "#src/doctor/examine.js";
import { gather } from "#src/doctor/gather.js";
import { Log } from "#src/doctor/log.js";
import { RULES } from "#src/doctor/rules/index.js";
import { Session, type Subject, type Trial } from "#src/doctor/session.js";
import { defaultEnvironment } from "#src/node/environment.js";
import { Recording } from "#src/recording/recording.js";
import { Redactor } from "#src/recording/redactor.js";
import { killAfterUs } from "../engines/orphans.js";
import { awaitPresence } from "../presence.js";
import { type Fault, healthyParts } from "./faults.js";
import { serveHttp } from "./http.js";

const PROGRAM = fileURLToPath(new URL("program.js", import.meta.url));
const STEP_MS = 5_000;

/**
 * Clock whose time advances by `advance` alone, so that a busy machine makes no server slow. Its timers also run in real time, so
 * that nothing waits for ever. After `run`, its time passes as well.
 */
class ToldClock implements Clock {
  #now = 0;
  #since: number | undefined;
  readonly #timers = new Map<
    object,
    { readonly at: number; readonly run: () => void; readonly timer: NodeJS.Timeout }
  >();

  now(): number {
    return this.#now + (this.#since === undefined ? 0 : performance.now() - this.#since);
  }

  run(): void {
    this.#since ??= performance.now();
  }

  schedule(callback: () => void, ms: number): object {
    const handle = {};
    const run = () => {
      this.cancel(handle);
      callback();
    };
    this.#timers.set(handle, { at: this.#now + ms, run, timer: setTimeout(run, ms) });
    return handle;
  }

  cancel(handle: unknown): void {
    clearTimeout(this.#timers.get(handle as object)?.timer);
    this.#timers.delete(handle as object);
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers.values()].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#now = due.at;
      due.run();
    }
    this.#now = end;
  }
}

/** Examines a server with a fault, and returns what the doctor reports. `rule` is the fault of a server that is a process. */
export async function examineServer(t: TestContext, fault: Fault, rule = ""): Promise<Report> {
  const clock = new ToldClock();
  const subject: Subject = {
    connect,
    clock,
    scope: { now: Date.now() },
    slow: fault.allows === "slow",
    ...(fault.allows === "try" && { trial: trialOf(fault, clock) }),
    ...(fault.wire === "http" ? await urlOf(t, fault, clock) : await PROCESSES[fault.wire](t, rule)),
  };
  return reportOn(subject);
}

/** Examines a server at a URL, by the clock of the system. */
export function examineUrl(url: string, more: Partial<Subject> = {}): Promise<Report> {
  const scope = { now: Date.now() };
  const network = NODE_NETWORK;
  return reportOn({
    wire: "http",
    url: new URL(url),
    connect,
    clock: systemClock,
    network,
    scope,
    slow: false,
    ...more,
  });
}

async function reportOn(subject: Subject): Promise<Report> {
  const log = new Log(new Recording(), new Redactor(), subject.clock);
  return examine(await gather(new Session(subject, log)), RULES, log);
}

/** Calls the tool that takes a while. A process cannot advance the clock, so that time has to pass during its calls. */
function trialOf({ wire }: Fault, clock: ToldClock): Trial {
  return {
    args: async (tools) => {
      if (wire !== "http") clock.run();
      const tool = tools.find(({ name }) => name === "climb");
      if (tool === undefined) throw new Error("The server does not list climb");
      return { tool, args: { steps: wire === "http" ? 10 : 40 } };
    },
  };
}

type Place = Pick<Subject, "wire" | "start" | "url" | "headers" | "network" | "diagnose" | "service">;

const PROCESSES = { stdio: processOf, service: serviceOf };

async function processOf(t: TestContext, rule: string): Promise<Place> {
  const presence = await awaitPresence();
  t.after(() => presence.release());
  const env = { ...defaultEnvironment(), PRESENCE: String(presence.port) };
  const command = { command: process.execPath, args: [PROGRAM, "stdio", rule], env };
  const diagnose = async ({ message }: Error) => ({ message, stderr: [], missing: [], startsWithAll: false });
  return { wire: "stdio", start: () => startProcess(command), diagnose };
}

/** Starts a process that serves HTTP. */
async function serviceOf(t: TestContext, rule: string): Promise<Place> {
  const child = spawn(process.execPath, [PROGRAM, "http", rule], { stdio: ["ignore", "pipe", "inherit"] });
  const spare = killAfterUs(child.pid);
  const exited = once(child, "exit").then(([code, signal]) => {
    spare();
    return { code, signal, isForced: false };
  });
  t.after(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const terminate = () => {
    child.kill("SIGTERM");
    return exited;
  };
  return { wire: "http", url: new URL(line), network: NODE_NETWORK, service: { terminate } };
}

async function urlOf(t: TestContext, { change, place, claims, allows }: Fault, clock: ToldClock): Promise<Place> {
  const parts = healthyParts();
  parts.server.pass = (ms) => clock.advance(ms);
  change(parts);
  const { http } = parts;
  const running = await serveHttp(parts.server, http, clock);
  let isOver = false;
  t.after(async () => {
    isOver = true;
    await running.close();
  });
  // Time passes while the doctor watches idle streams. The server is asked between the steps, so that what it wrote is read.
  const passTime = async () => {
    while (!isOver) {
      clock.advance(STEP_MS);
      await (await fetch(new URL("/tick", running.url))).text();
    }
  };
  const { onStream } = http;
  http.onStream = (response, method) => {
    onStream(response, method);
    if (allows === "slow" && method === "subscriptions/listen") passTime().catch(() => {});
  };
  const token = claims && http.protection?.tokenOf(Math.floor(Date.now() / 1000), claims);
  return {
    wire: "http",
    url: new URL(place?.(running.url) ?? running.url),
    network: NODE_NETWORK,
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
  };
}
