import { deepEqual, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "yaml";

const read = (path: string) => readFileSync(new URL(`../../../examples/cluster/${path}`, import.meta.url), "utf8");

interface Service {
  readonly image?: string;
  readonly build?: { readonly dockerfile_inline: string };
  readonly command?: string;
  readonly volumes?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const { services } = parse(read("compose.yaml"), { merge: true }) as {
  readonly services: Readonly<Record<"nginx" | "node-1" | "node-2" | "node-3" | "redis" | "postgres", Service>>;
};

test("the compose file names the major version of each image", () => {
  const images = Object.values(services).map(
    ({ image, build }) => image ?? /^FROM (\S+)$/m.exec(build?.dockerfile_inline ?? "")?.[1] ?? "",
  );
  for (const image of images) match(image, /^[a-z]+:\d+(-slim)?$/);
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
