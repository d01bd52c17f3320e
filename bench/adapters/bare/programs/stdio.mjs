import * as z from "zod";
import { serveLines } from "./serve-lines.mjs";

const schema = z.object({ text: z.string() });
serveLines((value) => schema.parse(value));
