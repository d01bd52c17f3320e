import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packPackage } from "../package.mjs";

/** Packs the package into a temporary folder, passes the folder and the tarball to `use`, then removes both. */
export async function withTarball(use) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-pack-"));
  try {
    return await use({ folder, ...(await packPackage(folder)) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
