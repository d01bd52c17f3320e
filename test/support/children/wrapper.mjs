// Starts a grandchild that outlives everything but SIGKILL; it stays connected to a port while it lives. Arguments:
// the port; "pipes" | "no-pipes": whether the grandchild holds this process's pipes; "same" | "own": whose process group
// it is in; "leave" (exit at the end of the input), "crash" (exit as soon as it is told to) or "stay".
import { spawn } from "node:child_process";

const [port, pipes, group, then] = process.argv.slice(2);
const script = `process.on("SIGTERM", () => {}); require("node:net").connect(${port}, "127.0.0.1").resume();`;
spawn(process.execPath, ["-e", script], {
  stdio: pipes === "pipes" ? "inherit" : "ignore",
  detached: group === "own",
});
process.stdin.on("end", () => {
  if (then === "leave") process.exit(0);
});
process.stdin.on("data", () => {
  if (then === "crash") process.exit(1);
});
