import type { CallLifetime } from "../call/lifetime.js";
import type { Connection } from "../era/client-era.js";
import { findParamHeaders, type ParamHeader } from "../http/param-headers.js";
import type { Tool } from "../protocol/types/index.js";
import { Pages } from "./pages.js";

/** Which arguments of tools travel in headers, as far as the tools were listed. */
export class ToolHeaders {
  readonly #known = new Map<string, readonly ParamHeader[]>();
  readonly #warn: (message: string) => void;

  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  of(tool: string): readonly ParamHeader[] | undefined {
    return this.#known.get(tool);
  }

  /** Takes in a listed tool; tells whether its headers make sense. Most have none, and are not worth remembering. */
  learn({ name, inputSchema }: Tool): boolean {
    const found = findParamHeaders(inputSchema);
    this.#known.delete(name);
    if (!found.ok) this.#warn(`tool ${name} is left out: ${found.reason}`);
    else if (found.headers.length > 0) this.#known.set(name, found.headers);
    return found.ok;
  }

  forget(): void {
    this.#known.clear();
  }

  /** Lists all tools anew. */
  async relearn(connection: Connection, lifetime: CallLifetime): Promise<void> {
    const tools = new Pages<Tool>("tools", (params) => connection.call({ method: "tools/list", params }, lifetime));
    for await (const tool of tools) this.learn(tool);
  }
}
