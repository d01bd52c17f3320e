import { existsSync } from "node:fs";
import { posix, win32 } from "node:path";
import type { Io } from "../io.js";

/** How a file describes servers. */
export type Shape = "mcpServers" | "claude-code" | "servers" | "codex" | "opencode" | "goose";

/** File that may configure servers. */
export interface Place {
  /** Prefix of names, such as `cursor`. */
  readonly host: string;
  readonly file: string;
  readonly shape: Shape;
  /** Folder of the project that the file belongs to. Undefined for a file of the user. */
  readonly project: string | undefined;
}

type PlaceIo = Pick<Io, "env" | "home" | "platform" | "cwd">;

/** Files of a project, below its folder. */
const OF_PROJECT: readonly (readonly [host: string, file: readonly string[], shape: Shape])[] = [
  ["mcp", ["mcp.json"], "mcpServers"],
  ["claude-code", [".mcp.json"], "mcpServers"],
  ["vscode", [".vscode", "mcp.json"], "servers"],
  ["cursor", [".cursor", "mcp.json"], "mcpServers"],
  ["gemini", [".gemini", "settings.json"], "mcpServers"],
  ["opencode", ["opencode.json"], "opencode"],
  ["opencode", ["opencode.jsonc"], "opencode"],
];

/** Prefixes of names. */
export const HOSTS: readonly string[] = [
  "mcp",
  "claude-desktop",
  "claude-code",
  "vscode",
  "vscode-insiders",
  "cursor",
  "windsurf",
  "gemini",
  "codex",
  "opencode",
  "goose",
];

/** Returns the files of projects: in the current folder and its parents up to the repository, the nearest first. */
export function projectPlaces(io: PlaceIo, exists: (path: string) => boolean = existsSync): Place[] {
  const { join } = pathOf(io);
  return foldersOf(io, exists).flatMap((project) =>
    OF_PROJECT.map(([host, file, shape]) => ({ host, file: join(project, ...file), shape, project })),
  );
}

function foldersOf(io: PlaceIo, exists: (path: string) => boolean): string[] {
  const { join, dirname } = pathOf(io);
  const folders: string[] = [];
  for (let folder = io.cwd; ; folder = dirname(folder)) {
    folders.push(folder);
    if (exists(join(folder, ".git"))) return folders;
    // Outside of a repository, the folders above belong to others.
    if (dirname(folder) === folder || folder === io.home) return [io.cwd];
  }
}

/** Returns the files of the user's hosts on the platform. */
export function userPlaces(io: PlaceIo): Place[] {
  const { join } = pathOf(io);
  const { env, home, platform } = io;
  const xdg = env.XDG_CONFIG_HOME || join(home, ".config");
  const applications =
    platform === "win32"
      ? env.APPDATA || join(home, "AppData", "Roaming")
      : platform === "darwin"
        ? join(home, "Library", "Application Support")
        : xdg;
  const goose =
    platform === "win32"
      ? join(applications, "Block", "goose", "config", "config.yaml")
      : join(home, ".config", "goose", "config.yaml");
  const files: readonly (readonly [host: string, file: string, shape: Shape])[] = [
    ["claude-desktop", join(applications, "Claude", "claude_desktop_config.json"), "mcpServers"],
    ["claude-code", join(home, ".claude.json"), "claude-code"],
    ["vscode", join(applications, "Code", "User", "mcp.json"), "servers"],
    ["vscode-insiders", join(applications, "Code - Insiders", "User", "mcp.json"), "servers"],
    ["cursor", join(home, ".cursor", "mcp.json"), "mcpServers"],
    ["windsurf", join(home, ".codeium", "windsurf", "mcp_config.json"), "mcpServers"],
    ["gemini", join(home, ".gemini", "settings.json"), "mcpServers"],
    ["codex", join(env.CODEX_HOME || join(home, ".codex"), "config.toml"), "codex"],
    ["opencode", join(xdg, "opencode", "opencode.json"), "opencode"],
    ["opencode", join(xdg, "opencode", "opencode.jsonc"), "opencode"],
    ["goose", goose, "goose"],
  ];
  return files.map(([host, file, shape]) => ({ host, file, shape, project: undefined }));
}

function pathOf({ platform }: PlaceIo): typeof posix {
  return platform === "win32" ? win32 : posix;
}
