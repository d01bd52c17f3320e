import { DefinitionError } from "../../protocol/errors.js";
import { JSON_SCHEMA_DIALECTS } from "./dialects.js";

/** The dialect that a `$schema` names, whichever way its URI is written; undefined for one that is not understood. */
function findDialect(uri: unknown): string | undefined {
  if (typeof uri !== "string") return undefined;
  const plain = (text: string) => text.replace(/^http:/, "https:").replace(/#$/, "");
  return JSON_SCHEMA_DIALECTS.find((dialect) => plain(dialect) === plain(uri));
}

/** The dialect that a `$schema` names; one that is not understood is an error, after `where` if that is given. */
export function expectDialect(uri: unknown, where?: string): string {
  const dialect = findDialect(uri);
  if (dialect !== undefined) return dialect;
  const problem = `the dialect ${JSON.stringify(uri)} ($schema) is not supported; use JSON Schema 2020-12`;
  throw new DefinitionError(where === undefined ? problem : `${where}: ${problem}`);
}
