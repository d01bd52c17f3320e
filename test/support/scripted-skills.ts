import { createHash } from "node:crypto";
import { McpServer, RpcError, ServerExtension } from "bowline/server";
import { SKILLS_EXTENSION, type Skill, type SkillResource } from "bowline/skills/server";
import type { RecordedClient } from "./each-wire.js";

type Content = string | Uint8Array;

export interface SkillScriptOptions {
  /** Settings that are announced. */
  readonly settings?: { readonly [name: string]: boolean };
  /**
   * Scheme of the resources that are served.
   * @default "skill"
   */
  readonly scheme?: string;
}

/** Server of skills whose entries and files the test writes, true or not. All members can be changed at any time. */
export class SkillScript extends ServerExtension {
  /** Entries of `skills/list`. */
  entries: unknown[] = [];
  /** Members that are added to results of `skills/list`, such as `ttlMs`. */
  hints: object = { ttlMs: 0, cacheScope: "private" };
  /** Files by URI. */
  files = new Map<string, Content>();
  /** Cache hints of files. */
  readMs = 0;
  /** Children of each directory by URI. */
  directories = new Map<string, object[]>();
  /** Result of `skills/get`. Undefined refuses with -32602. */
  get: (uri: string) => object | undefined = (uri) => {
    const skill = this.entries.find((entry) => (entry as Skill).uri === uri);
    return skill === undefined ? undefined : { skill };
  };
  /** Result of `skills/list` for a cursor. */
  list: (cursor: string | undefined) => object | Promise<object> = () => ({ skills: this.entries });

  constructor({ settings = { directoryRead: true }, scheme = "skill" }: SkillScriptOptions = {}) {
    super({ id: SKILLS_EXTENSION, serverOnly: true, settings });
    const hinted = (result: object) => ({ ...this.hints, ...result });
    this.method("skills/list", {}, async ({ cursor }) => hinted(await this.list(cursor as string | undefined)));
    this.method("skills/get", {}, ({ uri }) => {
      const result = this.get(uri as string);
      if (result === undefined) throw new RpcError(-32602, "Unknown skill");
      return hinted(result);
    });
    this.method("resources/directory/read", {}, ({ uri }) => {
      const resources = this.directories.get(uri as string);
      if (resources === undefined) throw new RpcError(-32602, "Not a directory");
      return hinted({ resources });
    });
    this.resource(
      `${scheme}://{+path}`,
      { name: "files", unsafePaths: true, cache: { ttlMs: 60_000 } },
      (_, __, uri) => {
        const content = this.files.get(uri);
        return content === undefined || typeof content === "string" ? content : { blob: content };
      },
    );
  }

  /** Serves a skill truthfully. Files have paths below the skill. Returns its entry. */
  serve(uri: string, files: { readonly [path: string]: Content }, frontmatter?: object): Skill {
    const root = uri.slice(0, -"/SKILL.md".length);
    const name = root.slice(root.lastIndexOf("/") + 1);
    const fields = { name, description: `About ${name}`, ...frontmatter };
    const all = { "SKILL.md": skillText(fields, `# ${name}\n`), ...files };
    const resources = Object.entries(all).map(([path, content]) => {
      this.files.set(`${root}/${path}`, content);
      return resourceOf(`${root}/${path}`, content);
    });
    const entry: Skill = { uri, frontmatter: fields, resources };
    this.entries.push(entry);
    return entry;
  }

  /** Returns a server with these skills. */
  server(): McpServer {
    return new McpServer({ name: "scripted", version: "1.0.0" }).extend(this) as unknown as McpServer;
  }
}

export function skillText(frontmatter: object, body: string): string {
  const fields = Object.entries(frontmatter).map(([field, value]) => `${field}: ${JSON.stringify(value)}\n`);
  return `---\n${fields.join("")}---\n${body}`;
}

export function resourceOf(uri: string, content: Content): SkillResource {
  const bytes = Buffer.from(content as string);
  return { uri, digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`, size: bytes.byteLength };
}

/** Returns the URIs that a client has read. */
export function readsOf({ wire }: RecordedClient): unknown[] {
  return wire.requests("resources/read").map(({ params }) => params?.uri);
}

/** Returns the methods of skills and resources that a client has sent. */
export function sentBy({ wire }: RecordedClient): (string | undefined)[] {
  return wire
    .requests()
    .map(({ method }) => method)
    .filter((method) => method?.startsWith("skills/") || method?.startsWith("resources/"));
}
