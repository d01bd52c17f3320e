import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { at } from "../scripts/lib/project.mjs";
import { stagePackage } from "../scripts/package.mjs";

const folder = at("build/runtimes");

/** Copies the built suite to a folder where its imports resolve to the package as users install it. */
export async function stageSuite() {
  rmSync(folder, { recursive: true, force: true });
  cpSync(at("runtimes/dist"), folder, { recursive: true });
  writeFileSync(`${folder}/package.json`, JSON.stringify({ name: "suite", private: true, type: "module" }));
  mkdirSync(`${folder}/node_modules`);
  symlinkSync(await stagePackage(), `${folder}/node_modules/bowline`, "junction");
}

/** Returns the staged program for a kind of runtime. */
export const hostProgram = (kind) => `${folder}/hosts/${kind}.js`;
