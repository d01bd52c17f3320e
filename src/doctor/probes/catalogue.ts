import { isObject } from "../../protocol/json.js";
import type { CatalogueFacts, Listing } from "../facts.js";
import type { Link } from "../session.js";

/** Pages of a listing that are read. Hosts give up, too. */
const MAX_PAGES = 100;

/** Reads what a server lists, whether it declares it or not. */
export async function probeCatalogue(link: Link): Promise<CatalogueFacts> {
  return {
    tools: await readListing(link, "tools/list", "tools"),
    prompts: await readListing(link, "prompts/list", "prompts"),
    resources: await readListing(link, "resources/list", "resources"),
    resourceTemplates: await readListing(link, "resources/templates/list", "resourceTemplates"),
  };
}

async function readListing<T>(link: Link, method: string, member: string): Promise<Listing<T>> {
  const items: T[] = [];
  const lines: number[] = [];
  const pages: Readonly<Record<string, unknown>>[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (;;) {
    const { result, error, failure, line } = await link.ask(method, cursor === undefined ? undefined : { cursor });
    if (result === undefined) {
      const code = typeof error?.code === "number" ? error.code : undefined;
      const message = typeof error?.message === "string" ? error.message : (failure?.message ?? "no answer");
      return { method, items, lines, pages, error: { code, message, line } };
    }
    const { [member]: page, ...rest } = result;
    if (line !== undefined) lines.push(line);
    pages.push(rest);
    // A page may have more items than a call may have arguments.
    if (Array.isArray(page)) for (const item of page) if (isObject(item)) items.push(item as T);
    const { nextCursor } = result;
    if (typeof nextCursor !== "string") return { method, items, lines, pages };
    if (cursors.has(nextCursor)) return { method, items, lines, pages, endless: "repeated cursor" };
    if (cursors.add(nextCursor).size >= MAX_PAGES) return { method, items, lines, pages, endless: "too many pages" };
    cursor = nextCursor;
  }
}
