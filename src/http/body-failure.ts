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
    message = `The request body is larger than ${limit} bytes (limits.maxBodyBytes)`,
  ) {
    super(message);
  }
}

export class BodyNotText extends BodyFailure {
  override readonly name = "BodyNotText";
  override readonly status = 400;
  constructor() {
    super("The request body is not valid UTF-8");
  }
}

export class BodyIncomplete extends BodyFailure {
  override readonly name = "BodyIncomplete";
  constructor(options?: ErrorOptions) {
    super("The client disconnected while it sent the request body", options);
  }
}

export class BodyTaken extends BodyFailure {
  override readonly name = "BodyTaken";
  override readonly status = 500;
  constructor() {
    super("The request body has already been read: remove the body parser, or pass its result as `body`");
  }
}

export class BodiesFull extends BodyFailure {
  override readonly name = "BodiesFull";
  override readonly status = 503;
  constructor(limit: number) {
    super(`Too many incomplete bodies: at most ${limit} bytes are allowed`);
  }
}

export class BodyTimeout extends BodyFailure {
  override readonly name = "BodyTimeout";
  override readonly status = 408;
  constructor(limits: { readonly bodyTimeoutMs: number; readonly maxBodyMs: number }, limit: keyof typeof limits) {
    const problem =
      limit === "maxBodyMs" ? "The request body did not arrive within" : "No data of the request body arrived for";
    super(`${problem} ${limits[limit]} ms (limits.${limit})`);
  }
}
