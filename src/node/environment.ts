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

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variables a server process inherits unless told otherwise: enough to find programs and folders, nothing that is
 * likely to hold a secret. Exported shell functions are left out.
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

/** The default environment with the given variables on top; `undefined` takes one away. */
export function childEnvironment(
  given: Environment = {},
  source: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const merged = defaultEnvironment(source, platform);
  for (const [name, value] of Object.entries(given)) {
    // Windows does not tell names apart by case: "Path" replaces "PATH".
    if (platform === "win32") delete merged[name.toUpperCase()];
    delete merged[name];
    if (value !== undefined) merged[name] = value;
  }
  return merged;
}
