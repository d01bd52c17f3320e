import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { at } from "../scripts/lib/project.mjs";

/** Loads a built file of test/support. */
export const support = (file) => import(pathToFileURL(at("build/test/support", file)).href);

/** Creates a folder that does not outlive this process. */
export async function createFolder() {
  const { removeAfterUs } = await support("engines/orphans.js");
  const folder = mkdtempSync(join(tmpdir(), "bowline-chaos-"));
  removeAfterUs(folder);
  return folder;
}
