import { readFileSync } from "node:fs";
import { exec, lines } from "../../scripts/lib/exec.mjs";
import { at } from "../../scripts/lib/project.mjs";

const target = at("bench/native/build");
const exe = process.platform === "win32" ? ".exe" : "";

/** The first build compiles all packages of a peer, which takes minutes and longer on a busy machine. */
const timeoutMs = 1_200_000;

const recipes = {
  rust: {
    program: `${target}/rust/release/bench-rmcp${exe}`,
    build: ["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", `${target}/rust`],
  },
  go: { program: `${target}/bench-go${exe}`, build: ["go", "build", "-o", `${target}/bench-go${exe}`, "."] },
};

/** Returns the path of the program of a peer. */
export const programOf = (folder) => recipes[folder].program;

/**
 * Builds the program of a peer. Returns the reason if that is not possible: its toolchain is not there, or its packages
 * are not and there is no network. The toolchain does nothing if nothing changed.
 */
export async function buildNative(folder) {
  const [command, ...args] = recipes[folder].build;
  const { code, output } = await exec(command, args, { cwd: at("bench/native", folder), timeoutMs });
  return code === 0 ? undefined : (lines(output)[0] ?? `${command} ended with ${code}`);
}

/** Returns the version of the SDK that a peer uses, from its lock file. */
export function versionOf({ folder, lock, version }) {
  return version.exec(readFileSync(at("bench/native", folder, lock), "utf8"))?.[1];
}
