/** Time for which a GET stream lives before its connection is cut, and the same for a stream of a call. */
const GET_MS = [1_000, 6_000];
const POST_MS = [10, 400];
/** Part of the POST requests whose connection is cut, if it is still open then. */
const POSTS = 0.05;

/**
 * Cuts connections of clients, so that their streams are resumed on other nodes. nginx uses a connection for each
 * request.
 */
export class Cuts {
  #random;
  #isOver = false;

  constructor(random) {
    this.#random = random;
  }

  /** No connection is cut from now on. */
  end() {
    this.#isOver = true;
  }

  consider({ method }, response) {
    if (method !== "GET" && !(method === "POST" && this.#random.chance(POSTS))) return;
    const [least, most] = method === "GET" ? GET_MS : POST_MS;
    const timer = setTimeout(() => this.#cut(response), least + this.#random.below(most - least));
    response.once("close", () => clearTimeout(timer));
  }

  #cut(response) {
    if (!this.#isOver) response.socket?.destroy();
  }
}
