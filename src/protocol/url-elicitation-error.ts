import { RpcError } from "./errors.js";

export const URL_ELICITATION_REQUIRED = -32042;

/** The server cannot go on before the user has been at these addresses. */
export class UrlElicitationRequiredError extends RpcError {
  readonly elicitations: readonly RequiredUrl[];
  constructor(elicitations: readonly RequiredUrl[], message = "The user must visit a page first") {
    const problem = requiredUrlProblem(elicitations);
    if (problem !== undefined) throw new TypeError(`UrlElicitationRequiredError: ${problem}`);
    const listed = elicitations.map((one) => ({ ...one, mode: "url" as const }));
    super(URL_ELICITATION_REQUIRED, message, { elicitations: listed });
    this.elicitations = listed;
  }
}

/** A page that the user must visit. */
export interface RequiredUrl {
  readonly mode?: "url";
  readonly message: string;
  readonly url: string;
  readonly elicitationId: string;
}

/** What keeps a value from being a list of pages to visit. */
export function requiredUrlProblem(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return "needs at least one elicitation";
  for (const one of value as readonly Partial<RequiredUrl>[]) {
    if (one.mode !== undefined && one.mode !== "url") return "takes elicitations by URL only";
    if (typeof one.elicitationId !== "string" || one.elicitationId === "") return "needs an elicitationId for each";
    if (typeof one.url !== "string" || typeof one.message !== "string") return "needs a url and a message for each";
  }
  return undefined;
}
