import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { exec, execTsc } from "./lib/exec.mjs";
import { at, filesBelow } from "./lib/project.mjs";

/**
 * Compares the code of `src` at a commit with the work tree, without comments: `node scripts/same-code.mjs [commit]`.
 * Both are compiled with `--removeComments`; JavaScript and declarations must be equal. If this passes, a commit
 * changes only comments.
 */
const commit = process.argv[2] ?? "HEAD";
const folder = mkdtempSync(join(tmpdir(), "bowline-same-code-"));

try {
  const before = await compile("before", extractCommit);
  const now = await compile("now", (target) => cpSync(at("src"), join(target, "src"), { recursive: true }));
  const differing = [...new Set([...before.keys(), ...now.keys()])].filter(
    (path) => before.get(path) !== now.get(path),
  );
  for (const path of differing) process.stdout.write(`differs: ${path}\n`);
  process.stdout.write(`${before.size} files at ${commit}, ${differing.length} differ\n`);
  process.exitCode = differing.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}

/** Compiles a copy of `src` without its comments. Returns the text of each emitted file by its path. */
async function compile(name, copySource) {
  const target = join(folder, name);
  mkdirSync(target);
  await copySource(target);
  cpSync(at("tsconfig.base.json"), join(target, "tsconfig.base.json"));
  cpSync(at("package.json"), join(target, "package.json"));
  const output = join(target, "out");
  const options = ["--removeComments", "--noCheck", "--sourceMap", "false", "--inlineSources", "false"];
  const paths = [
    "--outDir",
    output,
    "--tsBuildInfoFile",
    join(target, "buildinfo"),
    "--typeRoots",
    at("node_modules/@types"),
  ];
  const result = await execTsc(["-p", join(target, "src"), ...options, ...paths]);
  if (result.code !== 0) throw new Error(`src of ${name} does not compile:\n${result.output}`);
  return new Map(
    filesBelow(output, ".js", ".d.ts").map((path) => [relative(output, path), readFileSync(path, "utf8")]),
  );
}

async function extractCommit(target) {
  const archive = join(folder, "src.tar");
  await succeed("git", ["archive", "--output", archive, commit, "src"]);
  await succeed("tar", ["-xf", archive, "-C", target]);
}

async function succeed(command, args) {
  const { code, output } = await exec(command, args);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${output}`);
}
