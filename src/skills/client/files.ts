import type { Client } from "../../client/client.js";
import type { CallOptions } from "../../client/options.js";
import { fromBase64Url } from "../../protocol/base64.js";
import { digestOf } from "../../protocol/digest.js";
import { ProtocolError, RpcError } from "../../protocol/errors.js";
import { compareEntries, describeDifference } from "../difference.js";
import { SkillError } from "../error.js";
import { mimeTypeOf } from "../mime.js";
import { textOf, toBytes } from "../text.js";
import type { Skill, SkillResource } from "../types.js";
import { pathBelow, rootOf, uriBelow } from "../uri.js";
import type { ServerCache } from "./cache.js";
import { assertReadOptions, type SkillsClientLimits, tooLarge } from "./options.js";
import { resolveReference } from "./reference.js";

/** File of a skill. */
export interface SkillFile {
  /** The host's name of the server that the file comes from. */
  readonly server: string | undefined;
  readonly uri: string;
  /** Path in the skill, such as `references/forms.md`. */
  readonly path: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
  /** The bytes as text. Undefined if they are not UTF-8 text. */
  readonly text: string | undefined;
  /** True if size and digest are those of the entry. A match does not make the content trustworthy. */
  readonly verified: boolean;
}

/** Server of a skill, as the skill's files use it. */
export interface SkillOrigin {
  readonly client: Client;
  readonly server: string | undefined;
  readonly cache: ServerCache | undefined;
  readonly limits: SkillsClientLimits;
  /** Requests an entry. */
  get(uri: string, options: CallOptions): Promise<Skill>;
  /** Rejects if the server does not support the reading of directories. */
  assertDirectories(options: CallOptions): Promise<void>;
}

/** Options of a read. */
export interface SkillReadOptions extends CallOptions {
  /**
   * Path of the SKILL.md that contains the reference, if it is nested in the skill.
   * @default "SKILL.md"
   */
  readonly from?: string | undefined;
}

/** Place of a file in a skill. `listed` is undefined if the skill is dynamic. */
interface Place {
  readonly uri: string;
  readonly path: string;
  readonly listed: SkillResource | undefined;
}

interface Content {
  readonly bytes: Uint8Array;
  readonly mimeType: string | undefined;
}

/** Files of an entry. Only files that the entry lists are read, and only verified content is returned. */
export class EntryFiles {
  readonly entry: Skill;
  readonly root: string;
  readonly origin: SkillOrigin;
  /** Files by their paths. Undefined for a dynamic skill. */
  readonly listed: ReadonlyMap<string, SkillResource> | undefined;
  /** First failure of the verification. Nothing is read after it. */
  #failure: SkillError | undefined;
  /** Bytes that were read of a dynamic skill. */
  #bytes = 0;

  constructor(origin: SkillOrigin, entry: Skill) {
    const root = rootOf(entry.uri) as string;
    const { resources } = entry;
    this.origin = origin;
    this.entry = entry;
    this.root = root;
    this.listed =
      resources === "dynamic"
        ? undefined
        : new Map(resources.map((file) => [pathBelow(root, file.uri) as string, file]));
  }

  /** Throws after a failed verification. */
  assertIntact(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Reads and verifies a file. Rejects before anything is sent if the skill does not have it. */
  async read(reference: string, given: SkillReadOptions = {}): Promise<SkillFile> {
    assertReadOptions("resources/read", given);
    this.assertIntact();
    const { from, ...options } = given;
    const { uri, path, listed } = this.#locate(reference, from);
    const { bytes, mimeType } =
      listed === undefined ? await this.#readDynamic(uri, options) : await this.#readListed(listed, options);
    const text = textOf(bytes);
    return {
      server: this.origin.server,
      uri,
      path,
      mimeType: mimeType ?? mimeTypeOf(path, text !== undefined),
      bytes,
      text,
      verified: listed !== undefined,
    };
  }

  /** Returns the path and URI of a directory. Throws if the entry of the skill lists no file in it. */
  directoryAt(reference: string, from: string | undefined): { readonly uri: string; readonly path: string } {
    const path = resolveReference(this.root, reference, from);
    if (path === undefined) throw this.#notIn(reference, "leaves the skill");
    if (path === "" || this.listed === undefined) return { path, uri: uriBelow(this.root, path) };
    const [, inside] = [...this.listed].find(([file]) => file.startsWith(`${path}/`)) ?? [];
    if (inside === undefined) throw this.#notIn(reference, "is not a directory of a file that the entry lists");
    // The server may encode names in another way.
    const depth = path.split("/").length;
    const segments = inside.uri.slice(this.root.length + 1).split("/", depth);
    return { path, uri: `${this.root}/${segments.join("/")}` };
  }

  /**
   * Handles a failed verification. Asks for the entry anew and throws `skill_changed` if it differs, or else
   * `skill_mismatch`.
   */
  async fail(uri: string, problem: string, problems: readonly string[], options: CallOptions): Promise<never> {
    const mismatch = new SkillError("skill_mismatch", `${uri} does not match its entry: ${problem}`, { uri, problems });
    // Ends other reads at once.
    this.#failure ??= mismatch;
    await this.assertUnchanged(uri, options);
    throw mismatch;
  }

  /** Asks for the entry anew. Throws `skill_changed` if it differs. Ignores a server that does not return it. */
  async assertUnchanged(uri: string, options: CallOptions): Promise<void> {
    const now = await this.origin.get(this.entry.uri, options).catch(() => undefined);
    options.signal?.throwIfAborted();
    const difference = now && compareEntries(this.entry, now);
    if (difference === undefined) return;
    const problems = describeDifference(difference);
    const message = `The skill ${this.entry.uri} has changed on its server; load it again: ${problems.join("; ")}`;
    this.#failure = new SkillError("skill_changed", message, { uri, problems, difference });
    throw this.#failure;
  }

  #locate(reference: string, from: string | undefined): Place {
    const asIs = this.listed?.get(reference);
    if (asIs !== undefined && from === undefined) return { uri: asIs.uri, path: reference, listed: asIs };
    const path = resolveReference(this.root, reference, from);
    if (path === undefined) throw this.#notIn(reference, "leaves the skill");
    if (path === "") throw this.#notIn(reference, "is a directory");
    if (this.listed === undefined) return { uri: uriBelow(this.root, path), path, listed: undefined };
    const listed = this.listed.get(path);
    if (listed === undefined) throw this.#notIn(reference, "is not a file that the entry of the skill lists");
    return { uri: listed.uri, path, listed };
  }

  #notIn(reference: string, problem: string): SkillError {
    const { uri } = this.entry;
    return new SkillError("not_in_skill", `${JSON.stringify(reference)} ${problem}: ${uri}`, { uri });
  }

  async #readListed(file: SkillResource, options: CallOptions): Promise<Content> {
    const { cache } = this.origin;
    const kept = await cache?.get(file);
    if (kept !== undefined) {
      if ((await mismatchOf(file, kept)) === undefined) return { bytes: kept, mimeType: undefined };
      await cache?.delete(file);
    }
    const { content, problem } = await this.#fetchVerified(file, options);
    if (problem !== undefined) return this.fail(file.uri, problem, [], options);
    await cache?.set(file, content.bytes);
    return content;
  }

  /** Reads a file, and once more without the client's cache of responses if the content does not match. */
  async #fetchVerified(file: SkillResource, options: CallOptions) {
    try {
      const content = await this.#fetch(file.uri, options);
      if ((await mismatchOf(file, content.bytes)) === undefined) return { content, problem: undefined };
      const fresh = await this.#fetch(file.uri, { ...options, cache: "refresh" });
      return { content: fresh, problem: await mismatchOf(file, fresh.bytes) };
    } catch (error) {
      // The server may no longer have the file, or not as the entry lists it.
      if (error instanceof RpcError && !error.local) await this.assertUnchanged(file.uri, options);
      throw error;
    }
  }

  async #readDynamic(uri: string, options: CallOptions): Promise<Content> {
    const content = await this.#fetch(uri, options);
    const { maxBytes } = this.origin.limits;
    this.#bytes += content.bytes.byteLength;
    if (this.#bytes <= maxBytes) return content;
    this.#failure = tooLarge(this.entry.uri, `${this.#bytes} bytes so far`, maxBytes, "maxBytes");
    throw this.#failure;
  }

  async #fetch(uri: string, options: CallOptions): Promise<Content> {
    return toContent(uri, (await this.origin.client.readResource(uri, options)).contents);
  }
}

/** Returns the content of a file from a result of `resources/read`. */
export function toContent(uri: string, contents: Awaited<ReturnType<Client["readResource"]>>["contents"]): Content {
  const found = contents.find((content) => content.uri === uri) ?? (contents.length === 1 ? contents[0] : undefined);
  if (found === undefined) throw new ProtocolError(`resources/read: the result has no content of ${uri}`);
  return { bytes: "text" in found ? toBytes(found.text) : fromBase64Url(found.blob), mimeType: found.mimeType };
}

/** Describes the first difference between bytes and the entry. Returns undefined if there is none. */
async function mismatchOf({ size, digest }: SkillResource, bytes: Uint8Array): Promise<string | undefined> {
  if (bytes.byteLength !== size) return `it has ${bytes.byteLength} bytes instead of ${size}`;
  return (await digestOf(bytes)) === digest ? undefined : "it has another digest";
}
