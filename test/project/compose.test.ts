import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { test } from "node:test";
import { parse } from "yaml";

const example = new URL("../../../examples/cluster/", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, example), "utf8");

interface Service {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly command?: string;
  readonly volumes?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const { services } = parse(read("compose.yaml"), { merge: true }) as {
  readonly services: Readonly<Record<"nginx" | "node-1" | "node-2" | "node-3" | "redis" | "postgres", Service>>;
};

const dockerfile = read("Dockerfile");
const root = new URL(`${services["node-1"].build?.context}/`, example);

test("the images of the example have their major version", () => {
  const built = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image);
  const images = [...built, ...Object.values(services).flatMap(({ image = [] }) => image)];
  equal(images.length, 5);
  for (const image of images) match(image ?? "", /^[a-z]+:\d+(-slim)?$/);
});

test("the image is built from the files of the repository, without a package that may not be published yet", () => {
  deepEqual(new URL(services["node-1"].build?.dockerfile ?? "", root), new URL("Dockerfile", example));
  ok(existsSync(new URL("package-lock.json", root)));
  const copied = [...dockerfile.matchAll(/^COPY (\S+) \S+$/gm)].map(([, path = ""]) => path);
  deepEqual(copied, [".", "examples/cluster/server.ts"]);
  for (const path of copied) ok(existsSync(new URL(path, root)), path);
  const { scripts } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  for (const [, script = ""] of dockerfile.matchAll(/npm run (\w+)/g)) ok(script in scripts, script);
  const [, staged] =
    /export const staged = at\("(.*)"\)/.exec(readFileSync(new URL("scripts/package.mjs", root), "utf8")) ?? [];
  match(dockerfile, new RegExp(`^COPY --from=package /bowline/${staged} /srv/bowline$`, "m"));
});

test("the image has the packages that the program imports, and no file of the machine that builds it", () => {
  const [, installed = ""] = /npm install --install-links (.*)$/m.exec(dockerfile) ?? [];
  const names = installed.split(" ").map((source) => source.replace("/srv/", "").split("@")[0]);
  const imported = [...read("server.ts").matchAll(/ from "([^"]+)"/g)].map(([, specifier = ""]) => specifier);
  const packages = imported.filter((specifier) => !isBuiltin(specifier)).map((specifier) => specifier.split("/")[0]);
  deepEqual([...new Set(packages)].sort(), names.sort());
  const ignored = read("Dockerfile.dockerignore").split("\n");
  for (const path of [".git", "**/node_modules", "**/dist", "build"]) ok(ignored.includes(path), path);
});

test("the commands name the file, so that they run in the root of the repository", () => {
  const texts = [read("compose.yaml"), read("programs.ts"), read("../../docs/cluster.md")];
  for (const text of texts) {
    const commands = [...text.matchAll(/docker compose (.*)/g)].map(([, rest = ""]) => rest);
    ok(commands.length > 0);
    for (const command of commands) match(command, /^-f examples\/cluster\/compose\.yaml up/);
  }
});

test("Redis keeps all records, on disk as well", () => {
  match(services.redis.command ?? "", /--appendonly yes/);
  match(services.redis.command ?? "", /--maxmemory-policy noeviction/);
  deepEqual(services.redis.volumes, ["redis:/data"]);
});

test("the nodes differ in their names only, and nginx knows all", () => {
  const names = ["node-1", "node-2", "node-3"] as const;
  const first = services["node-1"];
  for (const NODE_NAME of names)
    deepEqual({ ...first, environment: { ...first.environment, NODE_NAME } }, services[NODE_NAME]);
  const upstreams = [...read("nginx.conf").matchAll(/^\s+server ([\w-]+):3000 /gm)].map(([, name]) => name);
  deepEqual(upstreams, names);
  ok(services.nginx.volumes?.includes("./nginx.conf:/etc/nginx/nginx.conf:ro"));
});

test("each variable of the nodes is one that the program reads", () => {
  const [, names = ""] = /const \{([^}]*)\} = process\.env;/.exec(read("server.ts")) ?? [];
  const known = names.split(",").map((name) => name.trim().split(" ")[0]);
  for (const name of Object.keys(services["node-1"].environment ?? {})) ok(known.includes(name), name);
});
