import { fromStored, toStored } from "../cluster/engine/text.js";
import { ClusterError } from "../cluster/error.js";
import { fromBase64Url, toBase64Url } from "../protocol/base64.js";
import { DefinitionError } from "../protocol/errors.js";

const PREFIX = /^[A-Za-z0-9_-]{1,32}$/;

/** Maximum size of a name, since a subject is a part of a line of at most 4,096 bytes. */
const MAX_NAME_BYTES = 1_200;

/** Kinds of documents that indexes may list. The others are in no index. */
export type ListedKind = "record" | "job" | "stream";
export type PlainKind = "lease" | "bucket" | "log" | "clock" | "sweep";

/**
 * Names of streams and subjects. A name is a token of base64url, since NATS forbids some characters in subjects. `_`
 * begins each token, so that none is empty.
 */
export class Names {
  /** Stream of documents: the last message of a subject is its document. */
  readonly documents: string;
  /** Stream of the entries of logs. */
  readonly entries: string;
  readonly #prefix: string;

  constructor(prefix: string) {
    if (!PREFIX.test(prefix))
      throw new DefinitionError(
        `natsCluster: the prefix ${JSON.stringify(prefix)} must consist of 1 to 32 letters, digits, - and _`,
      );
    this.#prefix = prefix;
    this.documents = `${prefix}_documents`;
    this.entries = `${prefix}_entries`;
  }

  get allDocuments(): string {
    return `${this.#prefix}.documents.>`;
  }

  /** Documents that indexes may list. */
  get listed(): string {
    return `${this.#prefix}.documents.listed.>`;
  }

  get allEntries(): string {
    return `${this.#prefix}.entries.*`;
  }

  /** Subject of the bus. */
  get bus(): string {
    return `${this.#prefix}.bus`;
  }

  listedSubject(kind: ListedKind, ...names: readonly string[]): string {
    return `${this.#prefix}.documents.listed.${kind}.${names.map(tokenOf).join(".")}`;
  }

  plainSubject(kind: PlainKind, name: string): string {
    return `${this.#prefix}.documents.plain.${kind}.${tokenOf(name)}`;
  }

  /** Streams of a log. */
  streamsOf(log: string): string {
    return `${this.#prefix}.documents.listed.stream.${tokenOf(log)}.*`;
  }

  entriesOf(log: string): string {
    return `${this.#prefix}.entries.${log}`;
  }
}

/** Returns the last name of a subject. */
export function lastName(subject: string): string {
  const token = subject.slice(subject.lastIndexOf(".") + 2);
  return fromStored(new TextDecoder().decode(fromBase64Url(token)));
}

function tokenOf(name: string): string {
  const bytes = new TextEncoder().encode(toStored(name));
  if (bytes.length > MAX_NAME_BYTES)
    throw new ClusterError(
      "refused",
      `NATS: the name ${JSON.stringify(name.slice(0, 40))}... has ${bytes.length} bytes; use one of at most ${MAX_NAME_BYTES}`,
    );
  return `_${toBase64Url(bytes)}`;
}
