// Modern has no twin: nothing is kept between modern requests.

import type { HeaderRecord } from "../../../http/client/send.js";
import { ConnectionError } from "../../../protocol/errors.js";

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/**
 * The version and the session that a handshake agreed on. It never changes: a message that is sent later on behalf of a
 * call repeats the session of the call's own time.
 */
export class ClientSession {
  /** Repeated with every message. */
  readonly headers: Readonly<HeaderRecord>;

  constructor(
    readonly version?: string | undefined,
    /** A secret. */
    readonly id?: string | undefined,
  ) {
    this.headers = {
      ...(version === undefined ? undefined : { "mcp-protocol-version": version }),
      ...(id === undefined ? undefined : { "mcp-session-id": id }),
    };
  }

  /** The same version without a session. */
  ended(): ClientSession {
    return new ClientSession(this.version);
  }

  isSameAs(other: ClientSession): boolean {
    return this.id !== undefined && other.id === this.id;
  }
}

/** Whether an id can travel in a header. */
export function isSessionId(id: string): boolean {
  return VISIBLE_ASCII.test(id);
}

/** The answer to a call's own POST: the server refused it before it looked at it. */
export class SessionLost extends ConnectionError {
  /** A secret, which must not show where errors are shown. */
  readonly #sessionId: string | undefined;

  constructor(method: string, session: ClientSession) {
    const message = `${method}: the session has expired (HTTP status 404)`;
    super(message, { status: 404, delivery: "refused" });
    this.#sessionId = session.id;
  }

  /** Whether the session that is lost is the one that this transport is still in. */
  isOf(transport: { readonly sessionId: string | undefined }): boolean {
    return transport.sessionId === this.#sessionId;
  }
}
