import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CoverageReport } from "monocart-coverage-reports";
import { at, shown } from "./lib/project.mjs";

/**
 * Runs tests and reports how much of `src` they execute: `node scripts/coverage.mjs [arguments of scripts/test.mjs]`.
 * Without arguments it runs unit tests, scenarios and faults. It leaves out tests of memory and of the hot path, since
 * coverage changes what they measure. Child processes count. Prints statements and branches per folder and writes
 * `index.html` and `lcov.info` to `build/coverage`.
 */
const chosen = process.argv.slice(2);
const filters = chosen.length > 0 ? chosen : ["test/unit/", "test/scenarios/", "test/faults/"];
const raw = at("build/coverage-raw");
rmSync(raw, { recursive: true, force: true });
const { status } = spawnSync(process.execPath, [at("scripts/test.mjs"), ...filters], {
  env: { ...process.env, NODE_V8_COVERAGE: raw },
  stdio: "inherit",
});

const dist = at("dist/");
const report = new CoverageReport({
  name: "Bowline",
  outputDir: at("build/coverage"),
  reports: ["html", "lcovonly"],
  logging: "error",
  entryFilter: ({ url }) => url.startsWith("file:") && fileURLToPath(url).startsWith(dist),
  sourcePath: (path) => path.replace(/^.*?(?=src\/)/, ""),
});
await report.addFromDir(raw);
const { files } = await report.generate();
rmSync(raw, { recursive: true, force: true });

const folders = new Map();
for (const { sourcePath, summary } of files) {
  for (const folder of [folderOf(sourcePath), "all"]) {
    const sum = folders.get(folder) ?? { files: 0, statements: [0, 0], branches: [0, 0] };
    sum.files += 1;
    for (const kind of ["statements", "branches"]) {
      sum[kind][0] += summary[kind].covered || 0;
      sum[kind][1] += summary[kind].total || 0;
    }
    folders.set(folder, sum);
  }
}
console.log(`\n${"folder".padEnd(24)} files  statements  branches`);
const rows = [...folders].sort(([a], [b]) => (a === "all" ? 1 : b === "all" ? -1 : a < b ? -1 : 1));
for (const [folder, { files, statements, branches }] of rows) {
  console.log(`${folder.padEnd(24)} ${String(files).padStart(5)}  ${share(statements)}  ${share(branches)}`);
}
console.log(
  `\n${shown(at("build/coverage/index.html"))} has the lines, ${shown(at("build/coverage/lcov.info"))} is for editors`,
);
process.exitCode = status ?? 1;

/** `src/server/definitions/tool.ts` counts for `src/server/definitions`. */
function folderOf(path) {
  return path.slice(0, path.lastIndexOf("/"));
}

function share([covered, total]) {
  return `${total === 0 ? "-" : `${((100 * covered) / total).toFixed(1)} %`}`.padStart(10);
}
