import { deepEqual, equal } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { connect } from "bowline/client";
import { transformSync } from "esbuild";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

interface Worker {
  fetch(request: Request, env: { readonly STATE_KEY: string }): Promise<Response>;
}

const env = { STATE_KEY: randomBytes(32).toString("base64") };
let worker: Worker;

/** Loads the program of the page, in a folder below the project, where its imports are found. */
before(async () => {
  const page = readFileSync(join(root, "docs/deploying/workers.md"), "utf8");
  const [, program = ""] = /^```ts\n(.*?)^```$/ms.exec(page) ?? [];
  const folder = mkdtempSync(join(root, "build/workers-page-"));
  const file = join(folder, "worker.mjs");
  try {
    writeFileSync(file, transformSync(program, { loader: "ts", format: "esm", target: "esnext" }).code);
    worker = ((await import(pathToFileURL(file).href)) as { readonly default: Worker }).default;
  } finally {
    rmSync(folder, { recursive: true });
  }
});

for (const era of ["modern", "legacy"] as const)
  for (const host of ["localhost:8787", "127.0.0.1:8787", "weather.example.workers.dev"])
    test(`the program of docs/deploying/workers.md answers at ${host} (${era})`, async () => {
      const fetch = (url: URL, init: RequestInit) => worker.fetch(new Request(url, init), env);
      const client = await connect(`http://${host}/mcp`, { era, fetch });
      equal((await client.callTool("forecast", { city: "Oslo" })).text, "Cold in Oslo");
      await client.close();
    });

test("and nowhere else", async () => {
  const answer = await worker.fetch(
    new Request("http://rebound.example:8787/mcp", { method: "POST", body: "{}" }),
    env,
  );
  deepEqual([answer.status, (await answer.text()).includes("rebound.example")], [403, true]);
});
