import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { exec, execNpm, lines } from "../scripts/lib/exec.mjs";
import { at } from "../scripts/lib/project.mjs";

const cache = at("runtimes/cache");
const { platform, arch } = process;
const system = platform === "win32" ? "windows" : platform;
const exe = platform === "win32" ? ".exe" : "";

const node = (version) => ({
  name: `node ${version.split(".")[0]}`,
  kind: "node",
  source: `node-${platform === "win32" ? "win" : platform}-${arch}@${version}`,
  file: `bin/node${exe}`,
});

/** The runtimes, each from a package for this platform that holds the program alone. The first is the one that runs this. */
export const runtimes = [
  { name: `node ${process.versions.node.split(".")[0]} (this)`, kind: "node" },
  node("22.23.3"),
  node("26.10.0"),
  {
    name: "bun",
    kind: "bun",
    source: `@oven/bun-${system}-${arch === "arm64" ? "aarch64" : arch}@1.4.4`,
    file: `bin/bun${exe}`,
  },
  {
    name: "deno",
    kind: "deno",
    source: `@deno/${platform}-${arch}${platform === "linux" ? "-glibc" : ""}@2.9.6`,
    file: `deno${exe}`,
  },
  {
    name: "workerd",
    kind: "workerd",
    source: `@cloudflare/workerd-${system}-${arch === "x64" ? "64" : arch}@1.20261104.1`,
    file: `bin/workerd${exe}`,
  },
];

/** The path of a runtime's program, fetched once into the cache; throws with the reason when it cannot be had. */
export async function programOf({ source, file }) {
  if (source === undefined) return process.execPath;
  const folder = join(cache, source.replace(/\W+/g, "-"));
  const program = join(folder, "package", file);
  if (!existsSync(program)) await unpack(source, folder);
  if (!existsSync(program)) throw new Error(`${source} has no ${file}`);
  return program;
}

/** No script of the package runs, and no folder is left half full. */
async function unpack(source, folder) {
  const draft = `${folder}.part`;
  rmSync(draft, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  const packed = await execNpm(["pack", "--json", "--ignore-scripts", `--pack-destination=${draft}`, source]);
  if (packed.code !== 0) throw new Error(`cannot fetch ${source}: ${reasonIn(packed)}`);
  const [{ filename }] = JSON.parse(packed.stdout);
  const name = filename.replace("@", "").replace("/", "-");
  const { code, stderr } = await exec("tar", ["-xzf", name], { cwd: draft });
  if (code !== 0) throw new Error(`cannot unpack ${source}: ${stderr.trim()}`);
  rmSync(join(draft, name));
  renameSync(draft, folder);
}

const reasonIn = ({ stdout, stderr }) => {
  const said = lines(stderr).filter((line) => line.startsWith("npm error"));
  return said[0]?.replace("npm error ", "") ?? (stdout.trim() || "npm pack failed");
};
