// Closes its standard output and lives on until the end of its input.
import { closeSync } from "node:fs";

closeSync(1);
process.stdin.resume();
