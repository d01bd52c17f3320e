import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stagePackage } from "../package.mjs";
import { execNpm } from "./exec.mjs";

/** Packs the package into a temporary folder, passes the folder and the tarball to `use`, then removes both. */
export async function withTarball(use) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-pack-"));
  try {
    const options = ["--json", "--ignore-scripts", "--pack-destination", folder];
    const packed = await execNpm(["pack", ...options], { cwd: await stagePackage() });
    if (packed.code !== 0) throw new Error(`npm pack failed: ${packed.output}`);
    const [{ filename, files, size }] = Object.values(JSON.parse(packed.stdout));
    return await use({ folder, tarball: join(folder, filename), files: files.map(({ path }) => path), size });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
