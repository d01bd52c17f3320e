import { runWithin } from "../../call/abortable.js";
import { systemClock } from "../../call/clock.js";
import type { Client } from "../../client/client.js";
import type { CallOptions } from "../../client/options.js";
import { atCaller } from "../../protocol/at-caller.js";
import { DefinitionError, McpError, TimeoutError, toError } from "../../protocol/errors.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../../protocol/known-options.js";
import { SkillError } from "../error.js";
import { mimeTypeOf } from "../mime.js";
import { textOf } from "../text.js";
import type { Skill, SkillDifference } from "../types.js";
import {
  askedTools,
  KeptApprovals,
  type SkillApprovalRequest,
  type SkillApprovals,
  type SkillDecision,
} from "./approvals.js";
import { ApprovedSkill } from "./approved-skill.js";
import { type InvalidSkill, toSkill } from "./entry.js";
import { type SkillFile, toContent } from "./files.js";
import { labelSkills, type SkillCollision } from "./labels.js";
import {
  assertListOptions,
  assertSize,
  SKILLS_CLIENT_LIMITS,
  SKILLS_CLIENT_OPTIONS,
  type SkillsClientLimits,
  type SkillsClientOptions,
} from "./options.js";
import { type ListSkillsOptions, type SkillListing, SkillsClient } from "./skills-client.js";

/** Servers of a catalogue: a `Group`, or clients by the host's names of their servers. */
export type SkillServers =
  | { readonly servers: readonly string[]; client(server: string, options?: CallOptions): Promise<Client> }
  | { readonly [server: string]: Client };

/** Options of {@link SkillCatalogue}. */
export interface SkillCatalogueOptions extends Omit<SkillsClientOptions, "server" | "limits"> {
  /** Asks the user. Called before anything of a skill is read. */
  readonly approve: (request: SkillApprovalRequest, options: CallOptions) => SkillDecision | Promise<SkillDecision>;
  /**
   * Store of kept approvals.
   * @default a store in memory
   */
  readonly approvals?: SkillApprovals | undefined;
  /** Names of the host's own skills. */
  readonly ownNames?: (readonly string[] | (() => readonly string[])) | undefined;
  readonly limits?: Optional<SkillCatalogueLimits> | undefined;
}

/** Limits of a catalogue. */
export interface SkillCatalogueLimits extends SkillsClientLimits {
  /**
   * Maximum time for the listing of a server, including the time to connect.
   * @default 15_000
   */
  readonly listTimeoutMs: number;
}

export const SKILL_CATALOGUE_LIMITS: SkillCatalogueLimits = { ...SKILLS_CLIENT_LIMITS, listTimeoutMs: 15_000 };

const { server: _, ...COMMON } = SKILLS_CLIENT_OPTIONS;
const OPTIONS: Known<SkillCatalogueOptions> = {
  ...COMMON,
  approve: "function",
  approvals: "object",
  ownNames: [{ array: "string", function: "any" }],
  limits: SKILL_CATALOGUE_LIMITS,
};

/** Skill in a catalogue. Server and URI identify it. */
export interface CatalogueSkill {
  /** The host's name of the server. */
  readonly server: string;
  readonly uri: string;
  /** Name that the server chose. Other skills may have the same. */
  readonly name: string;
  /** Unique text to show: the name, or the name with server or URI if others have the same name. */
  readonly label: string;
  readonly entry: Skill;
}

/** Listing of a catalogue. */
export interface CatalogueListing {
  readonly skills: readonly CatalogueSkill[];
  readonly invalid: readonly (InvalidSkill & { readonly server: string })[];
  /** Skills of the same name. Show them to the user: one may pose as another. */
  readonly collisions: readonly SkillCollision[];
  /** Servers that did not list, with their errors. */
  readonly failures: ReadonlyMap<string, Error>;
}

/** Skill to load. With `entry`, such as that of a listing, the server is not asked for it. */
export interface SkillIdentity {
  readonly server: string;
  readonly uri: string;
  readonly entry?: Skill | undefined;
}

/** Skills of several servers. A skill is loaded only after the user has approved it. */
export class SkillCatalogue {
  readonly #servers: SkillServers;
  readonly #options: SkillCatalogueOptions;
  readonly #limits: SkillCatalogueLimits;
  readonly #approvals: KeptApprovals;
  readonly #clients = new Map<string, SkillsClient>();
  /** Listings whose entries were compared with the approvals. */
  readonly #seen = new WeakSet<SkillListing>();

  constructor(servers: SkillServers, options: SkillCatalogueOptions) {
    atCaller(SkillCatalogue, () => {
      assertOptions("SkillCatalogue", options, OPTIONS);
      if (typeof options.approve !== "function") throw new DefinitionError("SkillCatalogue: approve is required");
    });
    this.#servers = servers;
    this.#options = options;
    this.#limits = withDefaults(options.limits, SKILL_CATALOGUE_LIMITS);
    this.#approvals = new KeptApprovals(options.approvals);
  }

  /** Lists the skills of all servers. Reads no file. A server that fails does not affect the others. */
  async list(options: ListSkillsOptions = {}): Promise<CatalogueListing> {
    assertListOptions(options);
    const failures = new Map<string, Error>();
    const servers = isGroup(this.#servers) ? this.#servers.servers : Object.keys(this.#servers);
    const parts = await Promise.all(
      servers.map(async (server) => {
        try {
          return { server, ...(await this.#listServer(server, options)) };
        } catch (error) {
          failures.set(server, toError(error));
          return { server, skills: [], invalid: [] };
        }
      }),
    );
    options.signal?.throwIfAborted();
    const found = parts.flatMap(({ server, skills }) => skills.map((entry) => ({ server, entry })));
    const { ownNames = [] } = this.#options;
    const { labels, collisions } = labelSkills(found, typeof ownNames === "function" ? ownNames() : ownNames);
    const skills = found.map(({ server, entry }, index): CatalogueSkill => {
      const { uri, frontmatter } = entry;
      return { server, uri, name: frontmatter.name, label: labels[index] as string, entry };
    });
    const invalid = parts.flatMap((part) => part.invalid.map((entry) => ({ ...entry, server: part.server })));
    return { skills, invalid, collisions, failures };
  }

  /**
   * Loads a skill. Asks for approval unless a kept one covers the entry, then reads and verifies the SKILL.md. Rejects
   * with `not_approved` if the user refuses.
   */
  async load({ server, uri, entry }: SkillIdentity, options: CallOptions = {}): Promise<ApprovedSkill> {
    const skills = await this.#skillsOf(server, options);
    const skill = entry?.uri === uri ? toSkill(entry) : await skills.get(uri, options);
    assertSize(skill, this.#limits);
    const onChanged = () => this.#approvals.revoke(server, skill);
    const grantsTools = await this.#approve(server, skill, options);
    const held = await skills.load(skill, options).catch(async (error: unknown) => {
      if (error instanceof SkillError && error.code === "skill_changed") await onChanged();
      throw error;
    });
    return new ApprovedSkill(server, held, grantsTools ? askedTools(held.frontmatter) : [], {
      onChanged,
      readFrom: (other, resource, call) => this.#readFrom(server, skill, { server: other, uri: resource }, call),
    });
  }

  /** Returns true if the approval grants the tools that the skill asks for. Throws if there is no approval. */
  async #approve(server: string, skill: Skill, options: CallOptions): Promise<boolean> {
    const { approval, change } = await this.#approvals.find(server, skill);
    if (approval !== undefined) return approval.allowedTools;
    const decision = await this.#ask({ server, skill, ...(change && { change }) }, options);
    const { keep = false, allowedTools = false } = decision;
    if (keep) await this.#approvals.keep(server, skill, allowedTools);
    return allowedTools;
  }

  async #ask(
    request: Omit<SkillApprovalRequest, "allowedTools"> & { readonly change?: SkillDifference },
    options: CallOptions,
  ): Promise<Exclude<SkillDecision, boolean>> {
    const allowedTools = askedTools(request.skill.frontmatter);
    const decision = await this.#options.approve({ ...request, allowedTools }, options);
    options.signal?.throwIfAborted();
    if (decision === true) return {};
    if (typeof decision === "object" && decision !== null) return decision;
    const { uri } = request.skill;
    const what = request.readFrom === undefined ? "" : ` to read ${request.readFrom.uri} of ${request.readFrom.server}`;
    throw new SkillError("not_approved", `The skill ${uri} of ${request.server} was not approved${what}`, { uri });
  }

  /** Reads a resource of another server for a skill, after an approval for this read. */
  async #readFrom(
    server: string,
    skill: Skill,
    readFrom: { readonly server: string; readonly uri: string },
    options: CallOptions,
  ): Promise<SkillFile> {
    await this.#ask({ server, skill, readFrom }, options);
    const { uri } = readFrom;
    const client = await this.#client(readFrom.server, options);
    const { bytes, mimeType } = toContent(uri, (await client.readResource(uri, options)).contents);
    const text = textOf(bytes);
    const type = mimeType ?? mimeTypeOf(uri, text !== undefined);
    return { server: readFrom.server, uri, path: uri, mimeType: type, bytes, text, verified: false };
  }

  async #listServer(server: string, options: ListSkillsOptions): Promise<SkillListing> {
    const { listTimeoutMs: ms } = this.#limits;
    const { clock = systemClock } = this.#options;
    const message = `Server ${server} did not list within ${ms} ms (limits.listTimeoutMs)`;
    const late = () => new TimeoutError("deadline", ms, message);
    return runWithin({ clock, signal: options.signal, ms, late }, async (signal) => {
      const skills = await this.#skillsOf(server, { signal });
      const listing = await skills.list({ ...options, signal });
      if (!this.#seen.has(listing)) await this.#compareApprovals(server, listing);
      return listing;
    });
  }

  /** Revokes the approvals of entries that the server has changed. A listing that is reused tells nothing new. */
  async #compareApprovals(server: string, listing: SkillListing): Promise<void> {
    this.#seen.add(listing);
    await Promise.all(listing.skills.map((skill) => this.#approvals.find(server, skill)));
  }

  /** Returns the skills of a server. The client of a group may be another one after a reconnection. */
  async #skillsOf(server: string, options: CallOptions): Promise<SkillsClient> {
    const client = await this.#client(server, options);
    const known = this.#clients.get(server);
    if (known?.client === client) return known;
    const { cache, minVersion, onError, clock } = this.#options;
    const { listTimeoutMs, ...limits } = this.#limits;
    const skills = new SkillsClient(client, {
      server,
      limits,
      ...(cache && { cache }),
      ...(minVersion !== undefined && { minVersion }),
      ...(onError && { onError }),
      ...(clock && { clock }),
    });
    this.#clients.set(server, skills);
    return skills;
  }

  async #client(server: string, { signal, deadlineMs }: CallOptions): Promise<Client> {
    if (isGroup(this.#servers)) return this.#servers.client(server, { signal, deadlineMs });
    const client = Object.hasOwn(this.#servers, server) ? this.#servers[server] : undefined;
    if (client !== undefined) return client;
    const known = Object.keys(this.#servers).join(", ");
    throw new McpError("unknown_server", `The catalogue has no server ${JSON.stringify(server)}; it has: ${known}`);
  }
}

type GroupOfServers = Extract<SkillServers, { readonly servers: readonly string[] }>;

function isGroup(servers: SkillServers): servers is GroupOfServers {
  return typeof servers.client === "function" && Array.isArray(servers.servers);
}
