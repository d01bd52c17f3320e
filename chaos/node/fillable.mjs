import { existsSync } from "node:fs";
import sqlite from "node:sqlite";

/**
 * Limits the pages of a SQLite file in the threads of nodes while the file CHAOS_FULL exists: SQLite keeps the maximum
 * number of pages for each connection, and not in the file. Nodes load this module before their program.
 */
const { CHAOS_FULL: flag } = process.env;
/** The number cannot be less than that of the pages that the file has. */
const FULL = "pragma max_page_count = 1";
const NOT_FULL = "pragma max_page_count = 1073741823";

const { exec } = sqlite.DatabaseSync.prototype;
const full = new WeakSet();

sqlite.DatabaseSync.prototype.exec = function (text) {
  if (text.startsWith("begin")) {
    const isFull = existsSync(flag);
    if (isFull !== full.has(this)) exec.call(this, isFull ? FULL : NOT_FULL);
    if (isFull) full.add(this);
    else full.delete(this);
  }
  return exec.call(this, text);
};
