import { register } from "node:module";

/** Lets a program of the official SDK run on `bowline/compat`: `node --import ./register.mjs program.js`. */
register("./resolve.mjs", import.meta.url);
