import { type Clock, systemClock } from "../../call/clock.js";
import { ignoreErrors } from "../../call/maybe-promise.js";
import type { Client } from "../../client/client.js";
import type { CallOptions } from "../../client/options.js";
import { atCaller } from "../../protocol/at-caller.js";
import { RpcError, toError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import type { ServerCapabilities } from "../../protocol/types/index.js";
import { SkillError } from "../error.js";
import { GET_SKILL, LIST_SKILLS, SKILLS_EXTENSION, type Skill } from "../types.js";
import { ServerCache } from "./cache.js";
import { type InvalidSkill, isSkillUri, sortEntries, toSkill } from "./entry.js";
import { EntryFiles, type SkillOrigin } from "./files.js";
import { type HeldSkill, holdSkill } from "./held-skill.js";
import { readAll } from "./listing.js";
import {
  assertListOptions,
  assertSize,
  resolveOptions,
  type SkillsClientLimits,
  type SkillsClientOptions,
} from "./options.js";

/** Options of a listing of skills. */
export interface ListSkillsOptions extends CallOptions {
  /**
   * Reads from the server even if the last listing may be reused.
   * @default false
   */
  readonly refresh?: boolean | undefined;
}

/** Skills that a server lists. It may serve others, which can be loaded by their URIs. */
export interface SkillListing {
  readonly skills: readonly Skill[];
  /** Entries that cannot be loaded. */
  readonly invalid: readonly InvalidSkill[];
}

/** Settings of the extension that a server announced. */
interface Settings {
  readonly directoryRead?: unknown;
}

/**
 * Skills of one server: `new SkillsClient(client)`. Lists entries and loads skills. Every file is verified by the digest
 * and the size in its entry before it is returned. Nothing is read before it is needed.
 */
export class SkillsClient {
  readonly client: Client;
  readonly #limits: SkillsClientLimits;
  readonly #minVersion: string;
  readonly #clock: Clock;
  readonly #origin: SkillOrigin;
  /** Capabilities from `server/discover`, if the client connected without it. */
  #discovered: ServerCapabilities | undefined;
  #kept: { readonly listing: SkillListing; readonly until: number } | undefined;

  constructor(client: Client, options: SkillsClientOptions = {}) {
    this.#limits = atCaller(SkillsClient, () => resolveOptions(options));
    const { server, cache, onError, minVersion = "", clock = systemClock } = options;
    this.client = client;
    this.#minVersion = minVersion;
    this.#clock = clock;
    const report = (error: unknown) => ignoreErrors(() => onError?.(toError(error)));
    this.#origin = {
      client,
      server,
      cache: cache === undefined || server === undefined ? undefined : new ServerCache(cache, server, report),
      limits: this.#limits,
      get: (uri, call) => this.get(uri, call),
      assertDirectories: (call) => this.#assertDirectories(call),
    };
  }

  /** True if the server announced skills. Undefined if the server has not described itself; the first call asks it. */
  get supported(): boolean | undefined {
    const capabilities = this.#capabilities();
    return capabilities && this.#refusal(capabilities) === undefined;
  }

  /** True if the server announced that it lists directories of skills. */
  get directories(): boolean | undefined {
    const capabilities = this.#capabilities();
    return capabilities && this.supported === true && settingsOf(capabilities)?.directoryRead === true;
  }

  /**
   * Lists the skills of the server. Returns the last listing while the server lets it be reused. Returns an empty listing
   * for a server without skills.
   */
  async list(given: ListSkillsOptions = {}): Promise<SkillListing> {
    assertListOptions(given);
    const { refresh = false, ...options } = given;
    if (this.#refusal(await this.#ask(options)) !== undefined) return { skills: [], invalid: [] };
    if (!refresh && this.#kept !== undefined && this.#clock.now() < this.#kept.until) return this.#kept.listing;
    const { items, ttlMs } = await readAll(this.client, LISTED_BY, this.#limits, options);
    const listing = sortEntries(items);
    this.#kept = ttlMs > 0 ? { listing, until: this.#clock.now() + ttlMs } : undefined;
    return listing;
  }

  /** Requests the entry of a skill by the URI of its SKILL.md. The listing need not have it. */
  async get(uri: string, options: CallOptions = {}): Promise<Skill> {
    await this.#assertSupported(options);
    if (!isSkillUri(uri)) throw new SkillError("invalid_skill", `${uri} is not the URI of a SKILL.md`, { uri });
    const result = await this.client.request(GET_SKILL, { uri }, options);
    const skill = toSkill(result.skill);
    if (skill.uri === uri) return skill;
    throw new SkillError("invalid_skill", `${GET_SKILL}: the entry is that of ${skill.uri} instead of ${uri}`, { uri });
  }

  /**
   * Loads a skill by its entry, or by the URI of its SKILL.md: reads and verifies the SKILL.md. Rejects with a
   * `SkillError` if the entry is not valid or declares too much, or if the SKILL.md does not match it.
   */
  async load(skill: Skill | string, options: CallOptions = {}): Promise<HeldSkill> {
    await this.#assertSupported(options);
    const entry = typeof skill === "string" ? await this.get(skill, options) : toSkill(skill);
    assertSize(entry, this.#limits);
    return holdSkill(new EntryFiles(this.#origin, entry), options);
  }

  async #assertSupported(options: CallOptions): Promise<ServerCapabilities> {
    const capabilities = await this.#ask(options);
    const refusal = this.#refusal(capabilities);
    if (refusal !== undefined) throw unsupported(refusal);
    return capabilities;
  }

  async #assertDirectories(options: CallOptions): Promise<void> {
    const capabilities = await this.#assertSupported(options);
    if (settingsOf(capabilities)?.directoryRead !== true)
      throw unsupported(`the server did not announce directoryRead of the extension ${SKILLS_EXTENSION}`);
  }

  /** Returns the reason why the server's skills are not used. */
  #refusal(capabilities: ServerCapabilities): string | undefined {
    const { version = "" } = this.client;
    if (version < this.#minVersion)
      return `protocol version ${version} is before ${this.#minVersion} (option minVersion)`;
    return settingsOf(capabilities) === undefined
      ? `the server did not announce the extension ${SKILLS_EXTENSION}`
      : undefined;
  }

  /** Returns the announced capabilities. Undefined if the server has not described itself. */
  #capabilities(): ServerCapabilities | undefined {
    const { capabilities } = this.client.server;
    const isHeard = Object.keys(capabilities).length > 0 || this.client.prior.discovered !== undefined;
    return isHeard ? capabilities : this.#discovered;
  }

  /** Returns the announced capabilities. Asks the server if it has not described itself. */
  async #ask(options: CallOptions): Promise<ServerCapabilities> {
    const known = this.#capabilities();
    if (known !== undefined) return known;
    try {
      this.#discovered = (await this.client.discover(options)).capabilities;
    } catch (error) {
      // The protocol version has a handshake, in which the server announced nothing.
      if (!(error instanceof RpcError && error.local)) throw error;
      this.#discovered = {};
    }
    return this.#discovered;
  }
}

const LISTED_BY = { method: LIST_SKILLS, member: "skills" };

function settingsOf({ extensions }: ServerCapabilities): Settings | undefined {
  const settings = isObject(extensions) && Object.hasOwn(extensions, SKILLS_EXTENSION) && extensions[SKILLS_EXTENSION];
  return isObject(settings) ? settings : undefined;
}

function unsupported(reason: string): SkillError {
  return new SkillError("skills_unsupported", `Nothing was sent: ${reason}`);
}
