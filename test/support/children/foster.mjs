// Starts a node program that has this process's own standard input, and waits to be killed. Arguments: the program and its own.
import { spawn } from "node:child_process";

spawn(process.execPath, process.argv.slice(2), { stdio: ["inherit", "ignore", "ignore"] });
setInterval(() => {}, 1 << 30);
