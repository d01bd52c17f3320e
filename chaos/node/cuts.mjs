import { callerOf } from "./caller.mjs";

/** Time for which a GET stream lives before its connection is cut, and the same for a stream of a call. */
const GET_MS = [1_000, 6_000];
const POST_MS = [10, 400];
/** Part of the POST requests whose connection is cut, if it is still open then. */
const POSTS = 0.15;

/** Header of requests whose connection is cut only after the response has begun. */
export const BEGUN_ONLY = "x-chaos-begun-only";

/**
 * Cuts connections of clients, so that their streams are resumed on other nodes. nginx uses a connection for each
 * request.
 */
export class Cuts {
  #random;
  #truth;
  #isOver = false;

  constructor(random, truth) {
    this.#random = random;
    this.#truth = truth;
  }

  /** No connection is cut from now on. */
  end() {
    this.#isOver = true;
  }

  consider(request, response) {
    const { method } = request;
    if (method !== "GET" && !(method === "POST" && this.#random.chance(POSTS))) return;
    const [least, most] = method === "GET" ? GET_MS : POST_MS;
    const timer = setTimeout(() => this.#cut(request, response), least + this.#random.below(most - least));
    response.once("close", () => clearTimeout(timer));
  }

  #cut({ method, headers }, response) {
    if (this.#isOver || response.socket === null) return;
    if (headers[BEGUN_ONLY] !== undefined && !response.headersSent) return;
    const { principal } = callerOf(headers.authorization);
    this.#truth.write("cut", principal, method, headers["mcp-method"] ?? "-");
    response.socket.destroy();
  }
}
