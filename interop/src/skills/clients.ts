import { Client, ProtocolError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { SkillsClient as OfficialSkills, SkillVerificationError } from "@modelcontextprotocol/client/ext/skills";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { connect, RpcError } from "bowline/client";
import { type HeldSkill, type Skill, SkillError, SkillsClient } from "bowline/skills/client";
import { ClientProgram, PeerError } from "../clients/process.js";
import type { Target } from "../driver.js";
import { peerOf } from "../peers.js";
import { type OpenSkillDriver, pathIn, type SkillSummary, toReference } from "./driver.js";

/** Bowline's own client. */
export const openBowline: OpenSkillDriver = async (target, choice) => {
  const client = await connect(target.wire === "http" ? target.url : { command: target.command, args: target.args }, {
    info: { name: "interop-bowline", version: "1.0.0" },
    era: choice,
  });
  const skills = new SkillsClient(client, { server: "peer" });
  const held = new Map<Skill, Promise<HeldSkill>>();
  const load = (skill: Skill) => {
    const loading = held.get(skill) ?? skills.load(skill);
    held.set(skill, loading);
    return loading;
  };
  return {
    version: client.version,
    announced: { skills: skills.supported === true, directories: skills.directories === true },
    async list() {
      const { skills: found, invalid } = await skills.list({ refresh: true });
      if (invalid.length > 0) throw new Error(`invalid entries: ${JSON.stringify(invalid)}`);
      return found;
    },
    get: (uri) => skills.get(uri),
    async read(skill, path) {
      const { bytes, verified } = await (await load(skill)).read(toReference(path));
      if (!verified && skill.resources !== "dynamic") throw new Error(`${path} was not verified`);
      return bytes;
    },
    async directory(skill, path) {
      const { children, changed } = await (await load(skill)).directory(toReference(path));
      if (changed.length > 0) throw new Error(`not as in the entry: ${changed.join()}`);
      return children.map(({ uri }) => uri);
    },
    readDirectory: (uri) => client.request("resources/directory/read", { uri }),
    async watch() {
      const watch = await client.watch({ resourcesListChanged: true });
      return { changed: watch[Symbol.asyncIterator]().next(), close: () => watch.close() };
    },
    refusalOf: (error) => (error instanceof SkillError ? REFUSALS[error.code] : undefined),
    codeOf: (error) => (error instanceof RpcError ? error.rpcCode : undefined),
    close: () => client.close(),
  };
};

const REFUSALS: Readonly<Record<string, "unlisted" | "differs">> = {
  not_in_skill: "unlisted",
  skill_changed: "differs",
  skill_mismatch: "differs",
};

const MODES = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } } as const;

/** The client of the official SDK, version 2. */
export const openV2: OpenSkillDriver = async (target, choice) => {
  const client = new Client({ name: "interop-v2", version: "1.0.0" }, { versionNegotiation: { mode: MODES[choice] } });
  await client.connect(transportTo(target));
  const skills = new OfficialSkills(client);
  return {
    version: client.getNegotiatedProtocolVersion(),
    announced: { skills: skills.supported, directories: skills.directoryRead },
    list: () => allPages((cursor) => skills.list(cursor === undefined ? {} : { cursor })),
    get: async (uri) => (await skills.get(uri)).skill,
    async read(skill, path) {
      const { bytes, verified } = await skills.read(skill as Parameters<typeof skills.read>[0], toReference(path));
      if (!verified && skill.resources !== "dynamic") throw new Error(`${path} was not verified`);
      return bytes;
    },
    async directory({ uri }, path) {
      const root = uri.slice(0, -"/SKILL.md".length);
      return (await skills.readDirectory(path === "" ? root : `${root}/${toReference(path)}`)).resources.map(
        (child) => child.uri,
      );
    },
    readDirectory: (uri) => skills.readDirectory(uri),
    async watch() {
      const changed = new Promise<void>((resolve) => {
        client.setNotificationHandler("notifications/resources/list_changed", () => resolve());
      });
      const isModern = client.getProtocolEra() === "modern";
      const subscription = isModern ? await client.listen({ resourcesListChanged: true }) : undefined;
      return { changed, close: async () => subscription?.close() };
    },
    refusalOf(error) {
      if (!(error instanceof SkillVerificationError)) return undefined;
      return error.reason === "unlisted" ? "unlisted" : "differs";
    },
    codeOf: (error) => (error instanceof ProtocolError ? error.code : undefined),
    close: () => client.close(),
  };
};

function transportTo(target: Target): StdioClientTransport | StreamableHTTPClientTransport {
  if (target.wire === "http") return new StreamableHTTPClientTransport(new URL(target.url));
  return new StdioClientTransport({ command: target.command, args: target.args });
}

/** The client of FastMCP. It verifies nothing, and reads no directories. */
export const openFastMcp: OpenSkillDriver = async (target, choice) => {
  const { skills } = await peerOf("fastmcp");
  const goal = target.wire === "http" ? [target.url] : [target.command, ...target.args];
  const program = new ClientProgram([...(skills?.drive ?? []), choice, ...goal]);
  const { version } = await program.opened;
  return {
    version,
    // Its methods reject without the announcement.
    announced: { skills: true, directories: false },
    list: () => allPages((cursor) => program.do("skills/list", { cursor }) as Promise<Page>),
    get: async (uri) => ((await program.do("skills/get", { uri })) as { skill: Skill }).skill,
    async read({ uri, resources }, path) {
      const listed = resources === "dynamic" ? [] : resources;
      const file = listed.find((resource) => pathIn(uri, resource.uri) === path)?.uri ?? uri;
      const { contents } = (await program.do("resources/read", { uri: file })) as { contents: Contents };
      const [{ text, blob = "" } = {}] = contents;
      return Uint8Array.from(text === undefined ? Buffer.from(blob, "base64") : Buffer.from(text));
    },
    directory: () => Promise.reject(new Error("FastMCP reads no directories")),
    readDirectory: () => Promise.reject(new Error("FastMCP reads no directories")),
    async findInResources() {
      return ((await program.do("summaries", {})) as { skills: SkillSummary[] }).skills;
    },
    refusalOf: () => undefined,
    codeOf: (error) => (error instanceof PeerError ? error.code : undefined),
    close: () => program.close(),
  };
};

type Contents = readonly { readonly text?: string; readonly blob?: string }[];

interface Page {
  readonly skills: readonly object[];
  readonly nextCursor?: string | undefined;
}

async function allPages(read: (cursor: string | undefined) => Promise<Page>): Promise<Skill[]> {
  const found: Skill[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    found.push(...(page.skills as readonly Skill[]));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found;
}
