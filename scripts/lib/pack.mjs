import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packPackage } from "../package.mjs";
import { at } from "./project.mjs";

let packed;

/** Packs the package once per process. Passes the tarball and a temporary folder to `use`, then removes the folder. */
export async function withTarball(use) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-pack-"));
  try {
    packed ??= pack();
    return await use({ folder, ...(await packed) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function pack() {
  const target = at("build/tarball");
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  return packPackage(target);
}
