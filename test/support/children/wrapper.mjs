// Starts a grandchild that outlives everything but SIGKILL, and tells its pid. Arguments:
// "pipes" | "no-pipes": whether it holds this process's pipes; "same" | "own": whose process group it is in;
// "leave": this process exits at the end of its input; "crash": at once; "stay": never.
import { spawn } from "node:child_process";

const [pipes, group, then] = process.argv.slice(2);
const script = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1 << 30); process.send?.("up");';
const stdio = pipes === "pipes" ? "inherit" : "ignore";
const grandchild = spawn(process.execPath, ["-e", script], {
  stdio: [stdio, stdio, stdio, "ipc"],
  detached: group === "own",
});
grandchild.once("message", () => {
  process.stdout.write(`${grandchild.pid}\n`, () => {
    if (then === "crash") process.exit(1);
  });
});
process.stdin.on("end", () => {
  if (then === "leave") process.exit(0);
});
process.stdin.resume();
