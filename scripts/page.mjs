import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { at } from "./lib/project.mjs";

/** Folder of the page in the package: where the command looks for it. */
const PAGE = "cli/page";

/** Bundles the page of the inspector: `index.html`, `app.js` and `app.css`. Returns their texts by name. */
export async function bundlePage() {
  const { outputFiles } = await build({
    absWorkingDir: at(),
    entryPoints: { app: "src/page/main.tsx", style: "src/page/style.css" },
    outdir: "dist/cli/page",
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2023",
    // Color schemes are chosen by light-dark(), which esbuild must not rewrite.
    supported: { nesting: true },
    tsconfigRaw: { compilerOptions: { jsx: "react-jsx", jsxImportSource: "preact" } },
    legalComments: "none",
    charset: "utf8",
    logLevel: "silent",
  });
  const textOf = (ending) => outputFiles.find(({ path }) => path.endsWith(ending)).text.trim();
  return {
    "index.html": readFileSync(at("src/page/index.html"), "utf8"),
    "app.js": textOf(".js"),
    "app.css": textOf(".css"),
  };
}

/** Writes the page into a `dist` folder. */
export async function writePage(dist) {
  mkdirSync(join(dist, PAGE), { recursive: true });
  for (const [name, text] of Object.entries(await bundlePage())) writeFileSync(join(dist, PAGE, name), text);
}

if (process.argv[1] === import.meta.filename) await writePage(at("dist"));
