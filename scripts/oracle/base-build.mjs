import { spawn } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { exec, execTsc } from "../lib/exec.mjs";
import { at } from "../lib/project.mjs";

/**
 * Returns the `dist` folder of a commit, built once into `build/oracle/<sha>` with the installed packages.
 * @param {string} ref
 */
export async function buildBase(ref) {
  const { code, stdout } = await exec("git", ["rev-parse", "--verify", "--quiet", `${ref}^{commit}`]);
  if (code !== 0) throw new Error(`git knows no commit ${ref}`);
  const sha = stdout.trim();
  const folder = at("build", "oracle", sha);
  if (!existsSync(folder)) await build(sha, folder);
  return join(folder, "dist");
}

/** Builds in another folder and moves the result when it is complete, so that an interrupted build leaves nothing. */
async function build(sha, folder) {
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    await unpack(sha, draft);
    symlinkSync(at("node_modules"), join(draft, "node_modules"), "junction");
    const { code, output } = await execTsc(["-b", "src"], { cwd: draft });
    if (code !== 0) throw new Error(`the base does not build:\n${output}`);
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function unpack(sha, folder) {
  return new Promise((resolve, reject) => {
    const git = spawn("git", ["archive", sha, "src", "package.json", "tsconfig.base.json"], {
      cwd: at(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    const tar = spawn("tar", ["-x", "-C", folder], { stdio: [git.stdout, "inherit", "inherit"] });
    git.on("error", reject).on("close", (code) => code !== 0 && reject(new Error(`git archive ended with ${code}`)));
    tar
      .on("error", reject)
      .on("close", (code) => (code === 0 ? resolve() : reject(new Error(`tar ended with ${code}`))));
  });
}
