import { chromium, findChromium } from "../scripts/lib/chromium.mjs";
import { exe, fetchProgram, nodeSource } from "../scripts/lib/fetch.mjs";

const { platform, arch } = process;
const system = platform === "win32" ? "windows" : platform;

const node = (version) => ({ name: `node ${version.split(".")[0]}`, kind: "node", ...nodeSource(version) });

/**
 * Runtimes, each from a package for this platform that contains only the program. The first is the Node that runs this.
 * The browser is a program of this machine, which `debian` installs.
 */
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
  { name: "chromium", kind: "chromium", find: findChromium, debian: chromium.debian },
];

/** Returns the path of a runtime's program, fetched once. Throws with the reason if there is none. */
export async function programOf({ source, file, find }) {
  if (find !== undefined) return find();
  return source === undefined ? process.execPath : fetchProgram({ source, file });
}
