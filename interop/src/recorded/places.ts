import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../../build/recorded", import.meta.url));

/** Returns where a server works and where its recording lies. The folder is always the same, since requests name it. */
export function recordedAt(name: string): { readonly folder: string; readonly file: string; readonly visited: string } {
  return {
    folder: join(root, "folders", name),
    file: join(root, `${name}.rec.ndjson`),
    visited: join(root, `${name}.json`),
  };
}
