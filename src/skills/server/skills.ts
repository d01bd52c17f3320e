import { unref } from "../../call/clock.js";
import { ignoreErrors } from "../../call/maybe-promise.js";
import { type HandlerResult, PreparedResult } from "../../era/server-era.js";
import { atCaller } from "../../protocol/at-caller.js";
import { DefinitionError, RpcError } from "../../protocol/errors.js";
import { INVALID_PARAMS } from "../../protocol/jsonrpc/errors.js";
import { assertOptions, withDefaults } from "../../protocol/known-options.js";
import { oneLine } from "../../protocol/text.js";
import type { Caller } from "../../server/context.js";
import { type ExtensionServer, ServerExtension } from "../../server/extensions/extension.js";
import { assertCacheHints } from "../../server/options.js";
import { GET_SKILL, LIST_SKILLS, READ_DIRECTORY, SKILLS_EXTENSION, type Skill } from "../types.js";
import { isPath, isScheme } from "../uri.js";
import { assertSkill } from "./build.js";
import { compareSkills, type SkillChanges } from "./changes.js";
import { combine } from "./combine.js";
import { SkillLoader } from "./loader.js";
import { SKILLS_LIMITS, SKILLS_OPTIONS, type SkillsLimits, type SkillsOptions } from "./options.js";
import { Snapshot } from "./snapshot.js";
import type { AnySkill, SkillFiles, SkillProblem, SkillSource, SkillsOfCaller } from "./source.js";

/** Creates the extension that serves skills: `server.extend(skills(source))`. */
export function skills(source: SkillSource | readonly SkillSource[], options: SkillsOptions = {}): SkillsExtension {
  return atCaller(skills, () => new SkillsExtension([source].flat() as SkillSource[], options));
}

/** Extension that serves skills. The skills are loaded when a server is extended by it. */
export class SkillsExtension extends ServerExtension {
  readonly #files: SkillFiles[] = [];
  readonly #definitions: AnySkill[] = [];
  readonly #perCaller: SkillsOfCaller[] = [];
  readonly #options: SkillsOptions;
  readonly #limits: SkillsLimits;
  readonly #loader: SkillLoader;
  readonly #scheme: string;
  readonly #pageSize: number;
  readonly #hints: { readonly ttlMs: number; readonly cacheScope: "public" | "private" };
  readonly #servers = new Set<ExtensionServer>();
  readonly #perRequest = new WeakMap<Caller, Promise<Snapshot>>();
  readonly #hinted = new WeakMap<PreparedResult, PreparedResult>();
  #loaded: Promise<Snapshot> | undefined;
  /** Load that waits for the one before it. */
  #next: Promise<SkillChanges> | undefined;
  /** Snapshot in use. It stays in use while the skills are loaded again. */
  #snapshot: Snapshot | undefined;
  #problems: readonly SkillProblem[] = [];

  /** @internal */
  constructor(sources: readonly SkillSource[], options: SkillsOptions) {
    const { scheme = "skill", directories = true, pageSize = 100, cache = {} } = options;
    super({ id: SKILLS_EXTENSION, serverOnly: true, settings: directories ? { directoryRead: true } : {} });
    assertOptions("skills", options, SKILLS_OPTIONS);
    assertCacheHints("skills cache", cache);
    if (!isScheme(scheme))
      throw new DefinitionError(`skills: scheme must be a URI scheme, got ${JSON.stringify(scheme)}`);
    this.#options = options;
    this.#limits = withDefaults(options.limits, SKILLS_LIMITS);
    this.#scheme = scheme;
    this.#pageSize = pageSize;
    for (const source of sources) this.#add(source);
    const isRestricted =
      options.access !== undefined ||
      this.#perCaller.length > 0 ||
      this.#definitions.some(({ visible, requires }) => (visible ?? requires) !== undefined);
    this.#hints = { ttlMs: cache.ttlMs ?? 0, cacheScope: isRestricted ? "private" : (cache.scope ?? "private") };
    this.#loader = new SkillLoader(
      {
        scheme,
        prefix: toPrefix(options.prefix),
        access: (skill) => options.access?.(skill),
        listed: (skill) => options.listed?.(skill) ?? true,
      },
      this.#limits,
      options.strict ?? false,
    );
    this.#define(directories, isRestricted);
  }

  /** Problems of the last load. */
  get problems(): readonly SkillProblem[] {
    return this.#problems;
  }

  /** Entries of the skills that are loaded, listed or not. Skills of single callers are not among them. */
  get entries(): readonly Skill[] {
    return this.#snapshot?.skills.map(({ listing }) => listing) ?? [];
  }

  /**
   * Loads all skills again and replaces the present ones at once. Rejects and keeps the present ones if a source cannot
   * be read. Notifies clients of changes.
   */
  reload(): Promise<SkillChanges> {
    // A load that has not begun sees all changes until now.
    this.#next ??= this.#enqueue();
    return this.#next;
  }

  /** Starts a load after the one before it, so that the last one wins. */
  async #enqueue(): Promise<SkillChanges> {
    const before = this.#loaded?.catch(() => undefined);
    const loading = Promise.resolve(before).then(() => {
      this.#next = undefined;
      return this.#load();
    });
    const loaded = loading.then(({ snapshot }) => snapshot);
    this.#loaded = loaded;
    loaded.catch(() => {
      if (this.#loaded === loaded) this.#loaded = undefined;
    });
    return (await loading).changes;
  }

  #add(source: SkillSource): void {
    if (typeof source === "function") this.#perCaller.push(source);
    else if (typeof source !== "object" || source === null)
      throw new DefinitionError(
        "skills: a source must be a folder (skillFolder), a skill, or a function of the caller",
      );
    else if ("frontmatter" in source) {
      assertSkill(source);
      this.#definitions.push(source);
    } else this.#files.push(source);
  }

  #define(directories: boolean, isRestricted: boolean): void {
    this.method(LIST_SKILLS, {}, async ({ cursor }, ctx) => {
      const { listing } = await this.#snapshotFor(ctx);
      return this.#withHints(await listing.page(cursor, ctx));
    });
    this.method(GET_SKILL, {}, async ({ uri }, ctx) => {
      const skill = await (await this.#snapshotFor(ctx)).skill(toText(uri), ctx);
      if (skill === undefined) throw refusal("Unknown skill", uri);
      return { skill: skill.listing, ...this.#hints };
    });
    if (directories) {
      this.method(READ_DIRECTORY, {}, async ({ uri, cursor }, ctx) => {
        const directory = await (await this.#snapshotFor(ctx)).directory(toText(uri), ctx);
        if (directory === undefined) throw refusal("Not a directory", uri);
        return this.#withHints(await directory.page(cursor, ctx));
      });
    }
    const sees = async (caller: Caller, uri: string) =>
      uri === "" || (await this.#snapshotFor(caller)).sees(uri, caller);
    const { ttlMs, cacheScope: scope } = this.#hints;
    this.resource(
      `${this.#scheme}://{+path}`,
      {
        name: "skill-files",
        description: "Files of skills",
        // The path is looked up among the files of skills and is never used as a path.
        unsafePaths: true,
        cache: { ttlMs, scope },
        list: async (ctx) => (await this.#snapshotFor(ctx)).resources(ctx),
        ...(isRestricted && { visible: sees, requires: { scopes: (uri) => this.#snapshot?.scopesOf(uri) ?? [] } }),
      },
      async (_, ctx, uri) => (await this.#snapshotFor(ctx)).read(uri, ctx),
    );
    this.onInstall((server) => this.#start(server));
  }

  #start(server: ExtensionServer): void {
    // Without a server, changes are not watched.
    const load = this.#servers.size === 0 ? this.reload() : this.#current();
    load.catch((error: unknown) => server.report(error, { where: "skills" }));
    this.#servers.add(server);
    const stops: ((() => void) | undefined)[] = [];
    server.onClosing(() => {
      this.#servers.delete(server);
      for (const stop of stops) stop?.();
    });
    for (const source of this.#files) stops.push(source.watch?.(() => this.#onChange(server)));
  }

  #waiting = false;

  /** Loads the skills again after a moment, in which other files may change. */
  #onChange(server: ExtensionServer): void {
    if (this.#waiting) return;
    this.#waiting = true;
    const timer = server.clock.schedule(() => {
      this.#waiting = false;
      if (this.#servers.size === 0) return;
      this.reload().catch((error: unknown) => server.report(error, { where: "skills" }));
    }, this.#limits.settleMs);
    unref(timer);
  }

  /** Returns the present skills. Waits for the first load, and loads again after a failed one. */
  #current(): Promise<Snapshot> {
    if (this.#snapshot !== undefined) return Promise.resolve(this.#snapshot);
    if (this.#loaded === undefined) this.reload().catch(() => {});
    return this.#loaded as Promise<Snapshot>;
  }

  /** Returns the skills for a caller. */
  #snapshotFor(caller: Caller): Promise<Snapshot> {
    if (this.#perCaller.length === 0) return this.#current();
    const known = this.#perRequest.get(caller) ?? this.#collect(caller);
    this.#perRequest.set(caller, known);
    return known;
  }

  async #collect(caller: Caller): Promise<Snapshot> {
    const [shared, ...own] = await Promise.all([this.#current(), ...this.#perCaller.map((source) => source(caller))]);
    const built = await this.#loader.build(own.flat());
    for (const problem of built.problems) this.#report(problem);
    return this.#toSnapshot(combine([...shared.skills, ...built.skills]).skills);
  }

  async #load(): Promise<{ readonly snapshot: Snapshot; readonly changes: SkillChanges }> {
    const { skills: loaded, problems } = await this.#loader.load(this.#files, this.#definitions);
    const snapshot = this.#toSnapshot(loaded);
    const changes = compareSkills(this.#snapshot?.skills, loaded);
    this.#snapshot = snapshot;
    this.#problems = problems;
    for (const problem of problems) this.#report(problem);
    for (const { changes: bus } of this.#servers) {
      if (changes.listChanged) bus.publish({ kind: "resources" });
      for (const uri of changes.files) bus.publish({ kind: "resource", uri });
    }
    return { snapshot, changes };
  }

  #toSnapshot(loaded: ConstructorParameters<typeof Snapshot>[0]): Snapshot {
    return new Snapshot(loaded, this.#scheme, this.#pageSize);
  }

  #report(problem: SkillProblem): void {
    for (const server of this.#servers) server.warn(`skills: ${problem.path}: ${problem.message}`);
    ignoreErrors(() => this.#options.onProblem?.(problem));
  }

  #withHints(page: HandlerResult): HandlerResult {
    if (!(page instanceof PreparedResult)) return { ...page, ...this.#hints };
    const hinted = this.#hinted.get(page) ?? new PreparedResult({ ...page.result, ...this.#hints });
    this.#hinted.set(page, hinted);
    return hinted;
  }
}

function toText(uri: unknown): string {
  if (typeof uri === "string") return uri;
  throw new RpcError(INVALID_PARAMS, "Invalid params: /uri must be a string");
}

function refusal(problem: string, uri: unknown): RpcError {
  return new RpcError(INVALID_PARAMS, `${problem}: ${oneLine(String(uri), 500)}`);
}

function toPrefix(prefix = ""): string {
  if (prefix === "") return "";
  const path = prefix.replace(/\/$/, "");
  if (!isPath(path))
    throw new DefinitionError(`skills: prefix must be a path such as "acme/billing", got ${JSON.stringify(prefix)}`);
  return `${path}/`;
}
