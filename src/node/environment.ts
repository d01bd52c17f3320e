const POSIX_NAMES = ["HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
const WINDOWS_NAMES = [
  "APPDATA",
  "COMSPEC",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATH",
  "PATHEXT",
  "PROCESSOR_ARCHITECTURE",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "TMP",
  "USERNAME",
  "USERPROFILE",
];

/** Environment variables by name. An undefined value removes the variable. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the variables that a server process inherits by default: enough to find programs and folders, but none that
 * is likely to contain a secret. Exported shell functions are omitted.
 */
export function defaultEnvironment(
  source: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const inherited: Record<string, string> = {};
  for (const name of platform === "win32" ? WINDOWS_NAMES : POSIX_NAMES) {
    const value = source[name];
    if (value !== undefined && !value.startsWith("()")) inherited[name] = value;
  }
  return inherited;
}

/** Returns the default environment with the given variables added. `undefined` removes a variable. */
export function childEnvironment(
  given: Environment = {},
  source: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const merged = defaultEnvironment(source, platform);
  for (const [name, value] of Object.entries(given)) {
    // Windows ignores the case of names: "Path" replaces "PATH".
    if (platform === "win32") delete merged[name.toUpperCase()];
    delete merged[name];
    if (value !== undefined) merged[name] = value;
  }
  return merged;
}
