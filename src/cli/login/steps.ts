import type { Fetch } from "../../http/client/send.js";
import type { Screen } from "../screen.js";
import { toldUrl } from "../target.js";
import { visibleLine } from "../text.js";

/** Most steps that are kept until they are shown. */
const MOST_KEPT = 50;

/** Shows the requests of a login as they happen. No line has a token, a code or another secret. */
export class LoginSteps {
  readonly #server: URL;
  readonly #screen: Screen;
  #early: string[] | undefined = [];

  /** `server` is the MCP server, of whose requests only those that it refuses are steps. */
  constructor(server: string, screen: Screen) {
    this.#server = new URL(server);
    this.#screen = screen;
  }

  /** Shows the steps so far, and each from now on. A command that only renews tokens shows none. */
  show(): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const line of early) this.#screen.note(line);
  }

  /** Tells a step. */
  tell(what: string, about: string): void {
    const line = `  ${what.padEnd(18)} ${about}`;
    if (this.#early === undefined) this.#screen.note(line);
    else if (this.#early.length < MOST_KEPT) this.#early.push(line);
  }

  /** Returns a `fetch` that tells its requests. */
  around(fetch: Fetch): Fetch {
    return async (url, init) => {
      const began = performance.now();
      const what = this.#stepOf(url, init);
      const told = (how: string) =>
        this.tell(
          what ?? "challenge",
          `${how}  ${(performance.now() - began).toFixed(0)} ms  ${visibleLine(toldUrl(url.href))}`,
        );
      try {
        const response = await fetch(url, init);
        if (what !== undefined || response.status === 401) told(String(response.status));
        return response;
      } catch (error) {
        if (what !== undefined) told("failed");
        throw error;
      }
    };
  }

  /** Returns the step that a request belongs to, or undefined for a message to the MCP server. */
  #stepOf(url: URL, { body, method = "GET" }: RequestInit): string | undefined {
    if (url.pathname.includes("/.well-known/oauth-protected-resource")) return "resource metadata";
    if (url.pathname.includes("/.well-known/")) return "server metadata";
    const form = new URLSearchParams(typeof body === "string" || body instanceof URLSearchParams ? body : "");
    const grant = form.get("grant_type");
    if (grant !== null) return grant === "refresh_token" ? "refresh" : "token";
    if (url.origin === this.#server.origin && url.pathname === this.#server.pathname) return undefined;
    if (form.has("token_type_hint")) return "revocation";
    return method === "POST" ? "registration" : "metadata";
  }
}
