#!/usr/bin/env node
import { homedir } from "node:os";
import { Interrupted } from "./io.js";
import { main } from "./main.js";

const end = new AbortController();
const stop = (by: "SIGINT" | "SIGTERM") => {
  // A second signal ends the process at once.
  process.removeAllListeners(by);
  end.abort(new Interrupted(by));
};
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);

// A reader that has enough, such as head, closes the pipe.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  end.abort(error);
});

/** Returns stderr, whose reader may be gone without a reason to end the command. Nobody reads what cannot be written. */
function openStderr(): NodeJS.WriteStream & { fd: 2 } {
  return process.stderr.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

let stderr: ReturnType<typeof openStderr> | undefined;

// Without `await`: the commands import this file, and could not before it is complete.
void main(process.argv.slice(2), {
  // Node opens each stream on first use.
  get stdin() {
    return process.stdin;
  },
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    stderr ??= openStderr();
    return stderr;
  },
  env: process.env,
  cwd: process.cwd(),
  home: homedir(),
  platform: process.platform,
  signal: end.signal,
  interrupt: () => stop("SIGINT"),
}).then((code) => {
  process.exitCode = code;
});
