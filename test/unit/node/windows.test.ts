import { deepEqual, equal, match, throws } from "node:assert/strict";
import { win32 } from "node:path";
import { test } from "node:test";
import { childEnvironment, defaultEnvironment } from "#src/node/environment.js";
import { type Disk, resolveOn } from "#src/node/files/resource.js";
import { planBrowser } from "#src/node/loopback.js";
import { type LaunchPlatform, planLaunch } from "#src/node/process/launch.js";
import { planEndTree } from "#src/node/process/tree.js";
import { isUnsafePath } from "#src/server/definitions/resources.js";

/** Windows as far as its decisions go: nothing here starts a program or reads a disk of it. */
function windows(files: readonly string[], env: Record<string, string> = {}): LaunchPlatform {
  const known = new Set(files.map((file) => file.toLowerCase()));
  return {
    name: "win32",
    env: { Path: "C:\\tools;C:\\Program Files\\nodejs", ...env },
    isFile: (path) => known.has(path.toLowerCase()),
  };
}

test("a program is started by itself, a command script by the interpreter", () => {
  const both = windows(["C:\\Program Files\\nodejs\\npx.cmd", "C:\\tools\\node.exe"]);
  deepEqual(planLaunch("node", ["a b"], both), { file: "node", args: ["a b"], verbatim: false });
  const npx = planLaunch("npx", ["-y", "server"], both);
  deepEqual([npx.file, npx.args.slice(0, 3), npx.verbatim], ["cmd.exe", ["/d", "/s", "/c"], true]);
  match(String(npx.args[3]), /^"C:\\Program\^ Files\\nodejs\\npx\.cmd /);
  const own = windows(["C:\\tools\\npx.cmd"], { ComSpec: "C:\\Windows\\System32\\cmd.exe" });
  equal(planLaunch("npx", [], own).file, "C:\\Windows\\System32\\cmd.exe");
});

test("the first folder of the path decides, and in it the order of PATHEXT", () => {
  const shadowed = windows(["C:\\tools\\run.exe", "C:\\Program Files\\nodejs\\run.cmd"]);
  equal(planLaunch("run", [], shadowed).file, "run");
  const sideBySide = ["C:\\tools\\run.exe", "C:\\tools\\run.cmd"];
  equal(planLaunch("run", [], windows(sideBySide)).file, "run");
  equal(planLaunch("run", [], windows(sideBySide, { PATHEXT: ".CMD;.EXE" })).file, "cmd.exe");
  equal(planLaunch("run.cmd", [], windows(sideBySide)).file, "cmd.exe");
  equal(planLaunch("absent", [], windows([])).file, "absent", "what is not found fails as the system says it");
  equal(planLaunch(".\\run.bat", [], windows([".\\run.bat"])).file, "cmd.exe");
});

/** Reads a command line as the interpreter does: once for the script, once where the script hands its arguments on. */
function argumentsOf(line: string): string[] {
  const unescaped = (text: string) => text.replace(/\^(.)/g, "$1");
  const inner = unescaped(unescaped(line.replace(/^"|"$/g, ""))).replace(/^\S*\.cmd ?/, "");
  const words = inner.match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  return words.map((word) =>
    word
      .slice(1, -1)
      .replace(/(\\+)$/, (slashes) => "\\".repeat(slashes.length / 2))
      .replace(/\\"/g, '"'),
  );
}

test("arguments of a command script arrive as they are, and none is read as a command", () => {
  const platform = windows(["C:\\tools\\npx.cmd"]);
  const hostile = ["a b", "&calc", "%PATH%", "!x!", "a|b", ">out", "(x)", "^", 'say "hi"', "C:\\dir\\", "", "a,b;c"];
  const { args } = planLaunch("npx", hostile, platform);
  const line = String(args[3]);
  deepEqual(argumentsOf(line), hostile);
  const bare = line.slice(1, -1).replace(/\^./g, "");
  equal(/[&|<>%!"()]/.test(bare), false, "each character that the interpreter reads is escaped");
  throws(() => planLaunch("npx", ["a\nb"], platform), /line break/);
});

test("variables are taken whatever the case of their names", () => {
  const source = { PATH: "C:\\tools", SYSTEMROOT: "C:\\Windows", TOKEN: "secret", HOME: "/root" };
  deepEqual(defaultEnvironment(source, "win32"), { PATH: "C:\\tools", SYSTEMROOT: "C:\\Windows" });
  const merged = childEnvironment({ Path: "C:\\own", systemroot: undefined }, source, "win32");
  deepEqual(merged, { Path: "C:\\own" });
});

test("a process is ended with its descendants by taskkill, and an address opened without a shell", () => {
  const plan = { by: "command", command: "taskkill", args: ["/pid", "7", "/T", "/F"] };
  for (const signal of ["SIGTERM", "SIGKILL"] as const) deepEqual(planEndTree(7, signal, "win32"), plan);
  const url = new URL("https://as.example/authorize?a=1&b=%22");
  deepEqual(planBrowser(url, "win32"), ["rundll32", ["url.dll,FileProtocolHandler", url.href]]);
  deepEqual(planBrowser(url, "linux"), ["xdg-open", [url.href]]);
  deepEqual(planBrowser(url, "darwin"), ["open", [url.href]]);
});

/** A disk of Windows with one folder and a link in it that leads out. */
const disk: Disk = {
  paths: win32,
  realpath: async (path) => (/\\link(\\|$)/i.test(path) ? "D:\\elsewhere\\secret.txt" : path),
};

test("paths inside of a folder are found, in any spelling of Windows", async () => {
  for (const path of [
    "a.txt",
    "sub\\a.txt",
    "sub/a.txt",
    "sub\\..\\a.txt",
    "console.txt",
    "nullable\\com.txt",
    "aux1",
  ]) {
    equal(await resolveOn(disk, "C:\\files", path), win32.join("C:\\files", path), path);
    equal(isUnsafePath(path), false, path);
  }
  const shouting: Disk = { paths: win32, realpath: async (path) => path.toUpperCase() };
  equal(await resolveOn(shouting, "c:\\files", "a.txt"), "C:\\FILES\\A.TXT");
});

test("paths that lead out of a folder are refused, in any spelling of Windows", async () => {
  const out = [
    "..\\secret.txt",
    "sub\\..\\..\\secret.txt",
    "sub/..\\../secret.txt",
    "..",
    "C:\\secret.txt",
    "C:secret.txt",
    "D:\\secret.txt",
    "\\secret.txt",
    "/secret.txt",
    "\\\\server\\share\\secret.txt",
    "\\\\?\\C:\\secret.txt",
    "//server/share/secret.txt",
  ];
  for (const path of out) {
    equal(await resolveOn(disk, "C:\\files", path), undefined, path);
    equal(isUnsafePath(path), true, path);
  }
  equal(await resolveOn(disk, "C:\\files", "..\\files2\\secret.txt"), undefined, "a folder whose name begins alike");
  equal(await resolveOn(disk, "C:\\files", "link\\secret.txt"), undefined);
});

test("devices and streams of Windows are no files of a folder", async () => {
  for (const path of [
    "CON",
    "nul.txt",
    "sub\\Aux",
    "COM1",
    "lpt9.log",
    "com\u00b9",
    "conin$",
    "nul .txt",
    "a.txt:b",
    "a:$DATA",
  ])
    equal(await resolveOn(disk, "C:\\files", path), undefined, path);
});
