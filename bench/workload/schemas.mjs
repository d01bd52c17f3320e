import * as z from "zod";

/** Made once per process for every SDK that takes zod, which is the best case for those that build a server per request. */
export const Echo = z.object({ text: z.string() });
export const Extra = z.object({ query: z.string().describe("What to look up"), limit: z.number().int().optional() });
export const Slow = z.object({ tag: z.string() });
