import type { Environment } from "../environment.js";

/** How a program is started on a platform. */
export interface LaunchPlan {
  readonly file: string;
  readonly args: readonly string[];
  /** Whether the arguments are the rest of the command line as they stand (Windows). */
  readonly verbatim: boolean;
}

export interface LaunchPlatform {
  readonly name: NodeJS.Platform;
  readonly env: Environment;
  isFile(path: string): boolean;
}

/**
 * Arguments reach the program as they are, on every platform. Windows cannot start a command script (`npx.cmd`) but by its
 * command interpreter: that alone is done for such a script, with everything escaped that the interpreter would read.
 */
export function planLaunch(command: string, args: readonly string[], platform: LaunchPlatform): LaunchPlan {
  const script = platform.name === "win32" ? findScript(command, platform) : undefined;
  if (script === undefined) return { file: command, args, verbatim: false };
  const line = [escapeForShell(script), ...args.map(toScriptArgument)].join(" ");
  return {
    file: variable(platform.env, "COMSPEC") ?? "cmd.exe",
    args: ["/d", "/s", "/c", `"${line}"`],
    verbatim: true,
  };
}

/** The command script that a command means, if it means one: the first file that fits on the path decides. */
function findScript(command: string, { env, isFile }: LaunchPlatform): string | undefined {
  const folders = /[\\/]/.test(command)
    ? [""]
    : (variable(env, "PATH") ?? "").split(";").map((folder) => `${folder}\\`);
  const extensions = (variable(env, "PATHEXT") ?? ".COM;.EXE;.BAT;.CMD").split(";");
  const names = ["", ...extensions].map((extension) => `${command}${extension.toLowerCase()}`);
  const candidates = folders.flatMap((folder) => names.map((name) => `${folder}${name}`));
  const found = candidates.find((path) => /\.\w+$/.test(path) && isFile(path));
  return found !== undefined && /\.(cmd|bat)$/i.test(found) ? found : undefined;
}

/** Read twice on its way: by the interpreter, and again where the script passes its arguments on. */
function toScriptArgument(arg: string): string {
  if (/[\r\n]/.test(arg)) throw new Error("a command script cannot be given an argument with a line break");
  const quoted = `"${arg.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1")}"`;
  return escapeForShell(escapeForShell(quoted));
}

function escapeForShell(text: string): string {
  return text.replace(/[()[\]%!^"`<>&|;, *?]/g, "^$&");
}

/** Windows does not tell names apart by case. */
function variable(env: Environment, name: string): string | undefined {
  const key = Object.keys(env).find((candidate) => candidate.toUpperCase() === name);
  return key === undefined ? undefined : env[key];
}
