/**
 * Reason why a request body is not available. `status` is the status of the response, if the client can receive one.
 */
export class BodyFailure extends Error {
  readonly status: number | undefined = undefined;
}

export class BodyTooLarge extends BodyFailure {
  override readonly name = "BodyTooLarge";
  override readonly status = 413;
  constructor(
    readonly limit: number,
    body = "request body",
  ) {
    super(`${body} is larger than ${limit} bytes`);
  }
}

export class BodyNotText extends BodyFailure {
  override readonly name = "BodyNotText";
  override readonly status = 400;
  constructor() {
    super("request body is not valid UTF-8");
  }
}

export class BodyIncomplete extends BodyFailure {
  override readonly name = "BodyIncomplete";
  constructor(options?: ErrorOptions) {
    super("the client went away before the whole request body had arrived", options);
  }
}

export class BodyTaken extends BodyFailure {
  override readonly name = "BodyTaken";
  override readonly status = 500;
  constructor() {
    super("request body was read before it came here; take the body parser away or hand its result over as `body`");
  }
}

export class BodiesFull extends BodyFailure {
  override readonly name = "BodiesFull";
  override readonly status = 503;
  constructor(limit: number) {
    super(`Too many request bodies are under way: this server keeps ${limit} bytes of them at a time`);
  }
}

export class BodyTimeout extends BodyFailure {
  override readonly name = "BodyTimeout";
  override readonly status = 408;
  constructor(ms: number) {
    super(`no byte of the request body came in ${ms} ms (bodyTimeoutMs)`);
  }
}
