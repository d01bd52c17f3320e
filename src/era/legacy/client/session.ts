// The modern era has no such file: nothing is kept between modern requests.

import type { HeaderRecord } from "../../../http/client/send.js";
import { ConnectionError } from "../../../protocol/errors.js";

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/**
 * Version and session id from a handshake. It is immutable: a later message for a call uses the session in which the
 * call was made.
 */
export class ClientSession {
  /** Headers of every message. */
  readonly headers: Readonly<HeaderRecord>;

  constructor(
    readonly version?: string | undefined,
    /** Id of the session, which is a secret. */
    readonly id?: string | undefined,
  ) {
    this.headers = {
      ...(version === undefined ? undefined : { "mcp-protocol-version": version }),
      ...(id === undefined ? undefined : { "mcp-session-id": id }),
    };
  }

  /** Returns a copy with the same version and without a session id. */
  ended(): ClientSession {
    return new ClientSession(this.version);
  }

  isSameAs(other: ClientSession): boolean {
    return this.id !== undefined && other.id === this.id;
  }
}

/** True if the id can be sent in a header. */
export function isSessionId(id: string): boolean {
  return VISIBLE_ASCII.test(id);
}

/** Error for a POST that the server refused unread, because it does not know the session. */
export class SessionLost extends ConnectionError {
  /** Private field, since the id is a secret and must not appear where errors are printed. */
  readonly #sessionId: string | undefined;

  constructor(method: string, session: ClientSession) {
    const message = `${method}: the server no longer knows the session (HTTP status 404)`;
    super(message, { status: 404, delivery: "refused" });
    this.#sessionId = session.id;
  }

  /** True if the lost session is the present session of the transport. */
  isOf(transport: { readonly sessionId: string | undefined }): boolean {
    return transport.sessionId === this.#sessionId;
  }
}
