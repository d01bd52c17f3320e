import { serveLines } from "./serve-lines.mjs";

serveLines((value) => value);
