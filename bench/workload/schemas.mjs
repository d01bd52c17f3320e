import * as z from "zod";

/**
 * Created once per process for every SDK that takes zod. This is the best case for SDKs that build a server per
 * request.
 */
export const Echo = z.object({ text: z.string() });
export const Extra = z.object({ query: z.string().describe("What to look up"), limit: z.number().int().optional() });
export const Slow = z.object({ tag: z.string() });
