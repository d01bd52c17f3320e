import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { at } from "./project.mjs";

/**
 * Runs a program and returns its output. A program that exceeds `timeoutMs` is killed and counts as failed. `onLine`
 * gets each whole line of stdout as it arrives.
 * @returns {Promise<{ code: number, stdout: string, stderr: string, output: string }>}
 */
export function exec(command, args, options = {}) {
  const { cwd = at(), env = process.env, timeoutMs = 240_000, input = "ignore", onLine } = options;
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env, stdio: [input, "pipe", "pipe"], shell: needsShell(command) });
    let stdout = "";
    let stderr = "";
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
      output += text;
    });
    if (onLine !== undefined) createInterface(child.stdout).on("line", onLine);
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
      output += text;
    });
    const timer = setTimeout(() => {
      output += `\nkilled after ${timeoutMs} ms`;
      child.kill("SIGKILL");
    }, timeoutMs);
    child.on("error", (error) => {
      output += error.message;
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? 1, stdout, stderr, output });
    });
  });
}

/** Runs a program written in JavaScript on the Node that runs this script. */
export const execNode = (args, options) => exec(process.execPath, args, options);

/** Runs a development tool by its file inside node_modules. */
export const execTool = (file, args, options) => execNode([at("node_modules", file), ...args], options);

export const execTsc = (args, options) => execTool("typescript/bin/tsc", args, options);

/** Runs npm by the file that runs this script, or else by name. */
export function execNpm(args, options) {
  const npm = process.env.npm_execpath;
  return npm?.endsWith(".js") ? execNode([npm, ...args], options) : exec("npm", args, options);
}

const needsShell = (command) => process.platform === "win32" && command === "npm";

/** Returns the lines of a text that are not blank. */
export const lines = (text) => text.split("\n").filter((line) => line.trim() !== "");
