import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { bowline, emptyFolder, type Ran, type RunOptions } from "./command.js";
import { type Kind, ProviderWorld } from "./provider-world.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** A provider with registration, revocation and tokens that are renewed once each. */
export const PROVIDER: Kind = {
  path: "",
  configure: (resource) => ({
    clients: [
      {
        client_id: "known",
        token_endpoint_auth_method: "none",
        application_type: "native",
        redirect_uris: ["http://127.0.0.1/callback"],
        grant_types: ["authorization_code", "refresh_token"],
      },
    ],
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 1) },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        getResourceServerInfo: () => ({
          scope: "tools",
          audience: resource,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
        useGrantedResource: () => true,
      },
    },
    rotateRefreshToken: true,
    scopes: ["openid", "offline_access", "tools"],
  }),
};

/** Programs of the system that a test writes as shell scripts. `browser` logs in by the provider's pages. */
const PROGRAMS = {
  browser: `for url; do :; done; exec "${process.execPath}" "${join(root, "test/support/children/browser.mjs")}" "$url"`,
  "secret-tool": `echo "$@" >> "$0.args"
    case "$1" in
      lookup) [ -f "$0.secret" ] && cat "$0.secret" || exit 1 ;;
      store) cat > "$0.secret" ;;
      clear) rm -f "$0.secret" ;;
    esac`,
  chromium: `exec "${process.execPath}" "${join(root, "test/support/children/chromium.mjs")}" "$1"`,
  // Notes all processes with their arguments, and what the real program finds.
  "watched secret-tool": `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' >> "$0.args"
    PATH="\${PATH#*:}"
    if [ "$1" = lookup ]; then secret-tool "$@" | tee "$0.secret.new"; [ -s "$0.secret.new" ] && mv "$0.secret.new" "$0.secret"
    else exec secret-tool "$@"; fi`,
  "locked secret-tool": `echo "secret-tool: Cannot autolaunch D-Bus without X11 \\$DISPLAY" >&2; exit 1`,
  security: `echo "$@" >> "$0.args"
    case "$1" in
      -i) read -r command; echo "\${command##* }" > "$0.secret" ;;
      find-generic-password) [ -f "$0.secret" ] && cat "$0.secret" || exit 44 ;;
      delete-generic-password) rm -f "$0.secret" ;;
    esac`,
  powershell: `echo "$@" >> "$0.args"; tr 'A-Za-z' 'N-ZA-Mn-za-m'`,
} as const;

/** Home of a user, with programs of the system that are scripts, and a provider. */
export class LoginWorld {
  readonly bin: string;
  readonly home: string;
  readonly env: Record<string, string>;

  private constructor(
    readonly t: TestContext,
    readonly provider: ProviderWorld,
  ) {
    this.home = emptyFolder(t);
    this.bin = join(this.home, "bin");
    mkdirSync(this.bin);
    this.env = {
      PATH: `${this.bin}:${process.env.PATH}`,
      BOWLINE_HOME: join(this.home, "bowline"),
      BOWLINE_CACHE: "off",
    };
    this.install("xdg-open", "browser");
    this.install("open", "browser");
    this.install("rundll32", "browser");
  }

  static async open(t: TestContext, keychain: keyof typeof PROGRAMS | undefined = "secret-tool"): Promise<LoginWorld> {
    const world = new LoginWorld(t, await ProviderWorld.open(t, PROVIDER));
    if (keychain !== undefined) world.install(keychain.replace(/^\w+ /, ""), keychain);
    return world;
  }

  get server(): string {
    return this.provider.mcp;
  }

  install(name: string, program: keyof typeof PROGRAMS): void {
    const file = join(this.bin, name);
    writeFileSync(file, `#!/bin/sh\n${PROGRAMS[program]}\n`);
    chmodSync(file, 0o755);
  }

  /** Runs a command line in this process. */
  run(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
    const env = { ...this.env, ...options.env };
    return bowline(this.t, argv, { platform: "linux", ...options, home: this.home, env });
  }

  /** Runs a command line in a process of its own. */
  spawn(argv: readonly string[]): Promise<Ran> {
    const bin = join(root, "dist/cli/bin.js");
    const env = { ...this.env, HOME: this.home };
    return new Promise((resolve) => {
      execFile(process.execPath, [bin, ...argv], { env, cwd: this.home }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      );
    });
  }

  /** Calls the tool in processes of their own at once, after the server has refused the tokens so far. */
  renew(count: number): Promise<readonly Ran[]> {
    this.provider.expireAll();
    return Promise.all(Array.from({ length: count }, () => this.spawn(["call", this.server, "echo"])));
  }

  /** Files of the state, with their modes. */
  files(): readonly { readonly path: string; readonly mode: number; readonly bytes: Buffer }[] {
    const folder = join(this.home, "bowline");
    if (!existsSync(folder)) return [];
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((name) => join(folder, name))
      .filter((path) => statSync(path).isFile())
      .map((path) => ({ path, mode: statSync(path).mode & 0o777, bytes: readFileSync(path) }));
  }

  /** What a script has noted: `args` it got, or the `secret` it keeps. */
  noted(program: string, what: "args" | "secret"): string {
    const file = join(this.bin, `${program}.${what}`);
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }
}
