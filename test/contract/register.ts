import { test } from "node:test";
import type { Register } from "#src/testing/contract/world.js";

const LIMIT_MS = 60_000;

/** Returns a function that registers a test with this begin of its title. */
export function registerAs(name: string): Register {
  return (title, body) => test(`${name}: ${title}`, { timeout: LIMIT_MS }, body);
}
