import type { Environment } from "../environment.js";

/** Command line that starts a program on a platform. */
export interface LaunchPlan {
  readonly file: string;
  readonly args: readonly string[];
  /** True if the arguments form the rest of the command line verbatim (Windows). */
  readonly verbatim: boolean;
}

/** Platform on which a program is started. */
export interface LaunchPlatform {
  readonly name: NodeJS.Platform;
  readonly env: Environment;
  isFile(path: string): boolean;
}

/**
 * Plans the start of a program, so that its arguments arrive unchanged on every platform. Windows can start a command
 * script (`npx.cmd`) only with its command interpreter. Only for such a script the interpreter is used, and all
 * characters that it would interpret are escaped.
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

/**
 * Returns the path of the command script that a command denotes. Returns undefined if the first match on the path is
 * not a script.
 */
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

/**
 * Escapes an argument of a script twice, since it is interpreted twice: by the interpreter, and where the script passes
 * its arguments on.
 */
function toScriptArgument(arg: string, index: number): string {
  if (/[\r\n]/.test(arg))
    throw new Error(`args[${index}] must not contain a line break, since the program is a command script`);
  const quoted = `"${arg.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1")}"`;
  return escapeForShell(escapeForShell(quoted));
}

function escapeForShell(text: string): string {
  return text.replace(/[()[\]%!^"`<>&|;, *?]/g, "^$&");
}

/** Returns a variable. Windows ignores the case of names. */
function variable(env: Environment, name: string): string | undefined {
  const key = Object.keys(env).find((candidate) => candidate.toUpperCase() === name);
  return key === undefined ? undefined : env[key];
}
