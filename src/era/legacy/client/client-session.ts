import type { HeaderRecord } from "../../../http/client/client-headers.js";
import { ProtocolError } from "../../../protocol/errors.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/** What the handshake taught a client, to be repeated with every message. */
export class ClientSession {
  /** The version agreed on. */
  version: string | undefined;
  /** A secret. */
  id: string | undefined;

  /** The headers as they are now. What is sent later on behalf of a call uses those of the call's own time. */
  headers(): HeaderRecord {
    const headers: HeaderRecord = {};
    if (this.version !== undefined) headers["mcp-protocol-version"] = this.version;
    if (this.id !== undefined) headers["mcp-session-id"] = this.id;
    return headers;
  }

  /** A handshake starts from nothing. */
  forget(): void {
    this.version = undefined;
    this.id = undefined;
  }

  /** Takes over what a successful handshake brought; throws for an id that no header can carry. */
  adopt(result: Params, id: string | undefined): void {
    if (typeof result.protocolVersion === "string") this.version = result.protocolVersion;
    if (id !== undefined && !VISIBLE_ASCII.test(id)) {
      throw new ProtocolError("The server's session id holds characters other than visible ASCII");
    }
    this.id = id;
  }

  /** Whether these headers belong to the present session. */
  isOf(headers: HeaderRecord): boolean {
    return this.id !== undefined && headers["mcp-session-id"] === this.id;
  }
}
