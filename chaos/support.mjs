import { pathToFileURL } from "node:url";
import { at } from "../scripts/lib/project.mjs";

/** Loads a built file of test/support. */
export const support = (file) => import(pathToFileURL(at("build/test/support", file)).href);
