import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { at } from "./lib/project.mjs";
import { stagePackage } from "./package.mjs";

/**
 * Prints the CPU time of the command as multiples of `node -e 0`: `node scripts/measure-command.mjs [--rounds 15]`. The programs
 * take turns, so that a busy machine slows all of them. Needs the build. It measures the package as users install it, and fails
 * if a median exceeds its limit.
 */
const limits = { help: 2.2, list: 5, call: 7 };
const rounds = Number(process.argv[process.argv.indexOf("--rounds") + 1]) || 15;

const host = `
const [, , serve, harbour] = process.argv;
const { serveHttp } = await import(serve);
const { createHarbour } = await import(harbour);
console.log((await serveHttp(createHarbour(), { port: 0 })).url);`;

/** Returns the user and system time of a finished program in milliseconds. */
function cpuOf(args) {
  const { status, stderr } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    env: { ...process.env, BOWLINE_CACHE: "off" },
  });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr}`);
  // A module that is loaded before writes the times of its process to stderr at the end.
  return Number(/cpu (\d+)/.exec(stderr)?.[1]) / 1000;
}

const median = (values) => [...values].sort((one, two) => one - two)[Math.floor(values.length / 2)];

const folder = mkdtempSync(join(tmpdir(), "bowline-measure-"));
const preload = join(folder, "cpu.cjs");
writeFileSync(
  preload,
  'process.on("exit", () => { const { user, system } = process.cpuUsage(); process.stderr.write("cpu " + (user + system) + "\\n"); });',
);
writeFileSync(join(folder, "host.mjs"), host);
const bin = join(await stagePackage(), "dist/cli/bin.js");
const serve = join(await stagePackage(), "dist/entry/node.js");
const server = spawn(process.execPath, [join(folder, "host.mjs"), serve, at("examples/dist/harbour.js")], {
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const url = await new Promise((resolve) => createInterface({ input: server.stdout }).once("line", resolve));
  const programs = {
    node: ["-e", "0"],
    help: [bin, "--help"],
    list: [bin, "list", url],
    call: [bin, "call", url, "moor", "--ship", "Maria", "--berth", "n1"],
  };
  const times = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, args] of Object.entries(programs)) {
      const ms = cpuOf(["--require", preload, ...args]);
      // The first round fills the caches of the system.
      if (round > 0) times[name].push(ms);
    }
  }
  const base = median(times.node);
  for (const [name, values] of Object.entries(times)) {
    const ratio = median(values.map((ms, index) => ms / times.node[index]));
    const limit = limits[name];
    const verdict = limit === undefined ? "" : `  ${ratio.toFixed(2)} times node -e 0, limit ${limit}`;
    console.log(`${name.padEnd(6)} ${median(values).toFixed(0).padStart(4)} ms${verdict}`);
    if (limit !== undefined && ratio > limit) {
      console.log(
        `FAIL scripts/measure-command.mjs: ${name} takes ${ratio.toFixed(2)} times the ${base.toFixed(0)} ms of node -e 0`,
      );
      process.exitCode = 1;
    }
  }
} finally {
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}
