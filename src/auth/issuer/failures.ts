import type { IssuerCore } from "./core.js";
import { errorPage } from "./pages/error.js";
import { OAuthProblem } from "./problem.js";
import { json, NOT_STORED } from "./replies.js";

/** What is told of an error: all of a problem, and nothing of anything else. */
export function toProblem(core: IssuerCore, error: unknown): OAuthProblem {
  if (error instanceof OAuthProblem) return error;
  core.onError(error);
  return new OAuthProblem("server_error", "something went wrong here", { status: 500 });
}

/** For programs. */
export function apiFailure(core: IssuerCore, error: unknown): Response {
  const problem = toProblem(core, error);
  return json(problem.status, problem, { ...NOT_STORED, ...problem.headers });
}

/** For users, where sending the browser anywhere would not be safe. */
export function pageFailure(core: IssuerCore, error: unknown): Promise<Response> {
  return errorPage(core.name, toProblem(core, error));
}
