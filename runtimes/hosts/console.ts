import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { check, type Outcome } from "../suite.js";

const HANDSHAKE = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "reader", version: "1.0.0" } };

/** Each kind of text that `console-server.ts` prints while it serves. */
const NOISE =
  "log,info,debug,table,dir,dirxml,group,inner,collapsed,count,time,write,bound early,taken early,taken late,reported";

/** Checks that a handler that prints spoils no message on stdout, and that the console prints there again afterwards. */
export async function checkConsole(command: string, ...flags: string[]): Promise<Outcome> {
  return check("stdio", "console", async () => {
    const program = fileURLToPath(new URL("console-server.js", import.meta.url));
    const child = spawn(command, [...flags, program], { stdio: ["pipe", "pipe", "pipe"] });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => {
        said[name] += text;
        // The response of the call: there is no more to do.
        if (name === "stdout" && said.stdout.includes('"id":2')) child.stdin.end();
      });
    const ended = once(child, "close");
    const messages = [
      { id: 1, method: "initialize", params: HANDSHAKE },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/call", params: { name: "print", arguments: {} } },
    ];
    for (const message of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    await ended;

    const lines = said.stdout.split("\n");
    const isMessage = (line: string) => line.startsWith('{"jsonrpc"');
    const spoilt = lines.filter((line) => line.includes("noise") && !isMessage(line));
    if (spoilt.length > 0) throw new Error(`stdout has ${JSON.stringify(spoilt)}`);
    if (lines.filter(isMessage).length !== 2) throw new Error(`not two responses: ${said.stdout}`);
    for (const kind of NOISE.split(",")) {
      const printed = ["table", "dir"].includes(kind) ? new RegExp(`noise[^]*${kind}`) : new RegExp(`noise: ${kind}`);
      if (!printed.test(said.stderr)) throw new Error(`stderr has no ${kind}: ${said.stderr}`);
    }
    for (const text of ["after: log", "after: bound early", "after"])
      if (!said.stdout.includes(text)) throw new Error(`stdout has no "${text}" after the end: ${said.stdout}`);
  });
}
