import { AuthError } from "../../protocol/auth-error.js";
import { clientDocumentUrlProblem } from "../client-document.js";
import type { ClientMetadata } from "./register.js";

/** Throws unless the text is a valid URL of a client metadata document. */
export function assertMetadataUrl(text: string): void {
  const problem = clientDocumentUrlProblem(text);
  if (problem === undefined) return;
  throw new AuthError("configuration", `The URL ${JSON.stringify(text)} of the client's metadata document ${problem}`);
}

/** Metadata document of a client. Its URL is the client id. */
export interface ClientDocument extends ClientMetadata {
  readonly client_id: string;
  readonly client_name: string;
  readonly redirect_uris: readonly string[];
}

/** Creates the metadata document to publish at `url`. */
export function clientDocument(
  url: string,
  metadata: ClientMetadata & { readonly client_name: string; readonly redirect_uris: readonly string[] },
): ClientDocument {
  assertMetadataUrl(url);
  const fail = (why: string) => new AuthError("configuration", `The client's metadata document ${why}`);
  if (typeof metadata.client_name !== "string" || metadata.client_name === "") throw fail("needs a client_name");
  if (!Array.isArray(metadata.redirect_uris) || metadata.redirect_uris.length === 0) throw fail("needs redirect_uris");
  const method = metadata.token_endpoint_auth_method ?? "none";
  if (method.startsWith("client_secret"))
    throw fail(`is public, so its token_endpoint_auth_method cannot be ${method}`);
  if ("client_secret" in metadata) throw fail("is public, so it must not contain a client_secret");
  return {
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    ...metadata,
    token_endpoint_auth_method: method,
    client_id: url,
  };
}
