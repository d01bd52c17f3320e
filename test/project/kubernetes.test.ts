import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { parse, parseAllDocuments } from "yaml";
import { SERVE_HTTP_LIMITS } from "#src/node/limits.js";
import { problemsOf } from "./kubernetes-shapes.js";

const example = new URL("../../../examples/cluster/", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, example), "utf8");
const files = readdirSync(new URL("kubernetes/", example));
const texts = files.map((file) => read(`kubernetes/${file}`));
const program = read("server.ts");
const page = read("../../docs/deploying/kubernetes.md");
const blocks = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, block = ""]) => block);
const hook = blocks.find((block) => block.includes("preStop")) ?? "";

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: the members differ by kind
  readonly spec: any;
  readonly stringData?: Readonly<Record<string, string>>;
}

const manifests = texts.flatMap((text) =>
  parseAllDocuments(text, { strict: true, uniqueKeys: true }).map((document) => {
    deepEqual([...document.errors, ...document.warnings], []);
    return document.toJSON() as Manifest;
  }),
);

function find(kind: string, name = "harbour"): Manifest {
  const [found, ...more] = manifests.filter(({ kind: own, metadata }) => own === kind && metadata.name === name);
  ok(found !== undefined && more.length === 0, `one ${kind} named ${name}`);
  return found;
}

const { spec: deployment } = find("Deployment");
const pod = deployment.template.spec;
const [container] = pod.containers;

test("the manifests have the kinds and versions that the page describes", () => {
  deepEqual(manifests.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`).sort(), [
    "apps/v1 Deployment",
    "autoscaling/v2 HorizontalPodAutoscaler",
    "gateway.networking.k8s.io/v1 Gateway",
    "gateway.networking.k8s.io/v1 HTTPRoute",
    "networking.k8s.io/v1 NetworkPolicy",
    "networking.k8s.io/v1 NetworkPolicy",
    "policy/v1 PodDisruptionBudget",
    "v1 Secret",
    "v1 Service",
  ]);
});

for (const manifest of manifests)
  test(`the ${manifest.kind} ${manifest.metadata.name} has the form that Kubernetes expects`, () => {
    deepEqual(problemsOf(manifest), []);
  });

/** Mistakes in a manifest, each with the problem that has to be found. */
const mistakes: readonly (readonly [title: string, kind: string, change: Change, problem: RegExp])[] = [
  [
    "a misspelt field that is required",
    "Deployment",
    ({ template }) => rename(template.spec.topologySpreadConstraints[0], "whenUnsatisfiable", "whenUnsatisfyable"),
    /topologySpreadConstraints\.0.*whenUnsatisf/,
  ],
  [
    "an unknown type of seccomp profile",
    "Deployment",
    ({ template }) => Object.assign(template.spec.securityContext.seccompProfile, { type: "Default" }),
    /seccompProfile\.type/,
  ],
  [
    "an unknown field in the pod",
    "Deployment",
    ({ template }) => Object.assign(template.spec, { gracePeriodSeconds: 30 }),
    /template\.spec: .*gracePeriodSeconds/,
  ],
  [
    "a request of memory above its limit",
    "Deployment",
    ({ template }) => Object.assign(template.spec.containers[0].resources.requests, { memory: "1Gi" }),
    /resources: a request is above its limit/,
  ],
  [
    "the user root in a pod that must not be root",
    "Deployment",
    ({ template }) => Object.assign(template.spec.securityContext, { runAsUser: 0 }),
    /securityContext: runAsUser is root/,
  ],
  [
    "an update that may neither add nor remove a pod",
    "Deployment",
    ({ strategy }) => Object.assign(strategy.rollingUpdate, { maxSurge: 0 }),
    /rollingUpdate: both are 0/,
  ],
  [
    "a number that is a text",
    "Deployment",
    ({ template }) => Object.assign(template.spec.containers[0].readinessProbe, { periodSeconds: "2" }),
    /readinessProbe\.periodSeconds/,
  ],
  [
    "a largest number of pods below the smallest",
    "HorizontalPodAutoscaler",
    (scaling) => Object.assign(scaling, { maxReplicas: 2 }),
    /minReplicas is above maxReplicas/,
  ],
  [
    "the class of a gateway in a field of another name",
    "Gateway",
    (gateway) => rename(gateway, "gatewayClassName", "gatewayClass"),
    /spec: .*gatewayClass"/,
  ],
  [
    "a time without a unit in a route",
    "HTTPRoute",
    ({ rules }) => Object.assign(rules[0].timeouts, { request: "0" }),
    /timeouts\.request/,
  ],
  [
    "a backend by the name of its port in a route",
    "HTTPRoute",
    ({ rules }) => Object.assign(rules[0].backendRefs[0], { port: "http" }),
    /backendRefs\.0\.port/,
  ],
];

// biome-ignore lint/suspicious/noExplicitAny: the members differ by kind
type Change = (spec: any) => unknown;

function rename(object: Record<string, unknown>, from: string, to: string): void {
  ok(from in object, from);
  object[to] = object[from];
  delete object[from];
}

for (const [title, kind, change, problem] of mistakes)
  test(`${title} is found`, () => {
    const manifest = structuredClone(find(kind));
    change(manifest.spec);
    match(problemsOf(manifest).join("\n"), problem);
  });

test("the probes use the paths and the port at which the program serves", () => {
  const [port] = container.ports;
  equal(container.readinessProbe.httpGet.path, "/readyz");
  equal(container.livenessProbe.httpGet.path, "/livez");
  for (const { httpGet } of [container.readinessProbe, container.livenessProbe]) equal(httpGet.port, port.name);
  equal(container.env.find(({ name }: { name: string }) => name === "PORT").value, String(port.containerPort));
  match(program, /PORT = "3000"/);
  equal(port.containerPort, 3000);
});

test("a pod has the time to drain before it is killed", () => {
  const [, graceMs] = /running\.drain\(([\d_]+)\)/.exec(program) ?? [];
  const needsMs = SERVE_HTTP_LIMITS.lameDuckMs + Number(graceMs?.replaceAll("_", ""));
  ok(pod.terminationGracePeriodSeconds * 1000 > needsMs, `more than ${needsMs} ms`);
  doesNotMatch(program, /lameDuckMs/); // the default
  const { periodSeconds, failureThreshold } = container.readinessProbe;
  ok(periodSeconds * failureThreshold * 1000 < SERVE_HTTP_LIMITS.lameDuckMs, "noticed while the pod still serves");
  deepEqual(container.command, ["node", "server.ts"]); // process 1 receives SIGTERM
});

test("the hook of the page has its form and leaves the time to drain", () => {
  const { terminationGracePeriodSeconds, containers } = parse(hook);
  const [{ lifecycle }] = containers;
  const manifest = structuredClone(find("Deployment"));
  Object.assign(manifest.spec.template.spec, { terminationGracePeriodSeconds });
  Object.assign(manifest.spec.template.spec.containers[0], { lifecycle });
  deepEqual(problemsOf(manifest), []);
  ok(terminationGracePeriodSeconds - lifecycle.preStop.sleep.seconds >= pod.terminationGracePeriodSeconds);
});

test("a rolling update and an upgrade of machines leave pods that serve", () => {
  deepEqual(deployment.strategy, { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
  const { spec: budget } = find("PodDisruptionBudget");
  const { spec: scaling } = find("HorizontalPodAutoscaler");
  ok(budget.maxUnavailable < scaling.minReplicas);
  equal(deployment.replicas, undefined, "each kubectl apply would undo the work of the autoscaler");
  deepEqual(scaling.scaleTargetRef, { apiVersion: "apps/v1", kind: "Deployment", name: "harbour" });
});

test("each variable is one that the program reads, and each secret exists", () => {
  const [, names = ""] = /const \{([^}]*)\} = process\.env;/.exec(program) ?? [];
  const known = names.split(",").map((name) => name.trim().split(" ")[0]);
  const secrets = Object.keys(find("Secret").stringData ?? {});
  for (const { name, valueFrom } of container.env) {
    ok(known.includes(name), name);
    const reference = valueFrom?.secretKeyRef;
    if (reference === undefined) continue;
    equal(reference.name, "harbour");
    ok(secrets.includes(reference.key), reference.key);
  }
  for (const name of ["CLUSTER_URL", "STATE_KEYS", "ALLOWED_HOSTS", "NODE_NAME"])
    ok(
      container.env.some((variable: { name: string }) => variable.name === name),
      name,
    );
});

test("the labels of all selectors are those of the pods, and no session is bound to a pod", () => {
  const { labels } = deployment.template.metadata;
  const { spec: service } = find("Service");
  deepEqual(deployment.selector.matchLabels, labels);
  deepEqual(find("PodDisruptionBudget").spec.selector.matchLabels, labels);
  deepEqual(find("NetworkPolicy").spec.podSelector.matchLabels, labels);
  deepEqual(service, { selector: labels, ports: [{ name: "http", port: 80, targetPort: container.ports[0].name }] });
});

test("the route leads from the host of the program to its service, and lets streams stay open", () => {
  const { spec: route } = find("HTTPRoute");
  const { spec: gateway } = find("Gateway");
  const { spec: service } = find("Service");
  const [listener] = gateway.listeners;
  const [rule] = route.rules;
  equal(listener.hostname, container.env.find(({ name }: { name: string }) => name === "ALLOWED_HOSTS").value);
  deepEqual(route.hostnames, [listener.hostname]);
  deepEqual(route.parentRefs, [{ name: "harbour", sectionName: listener.name }]);
  deepEqual(rule.matches, [{ path: { type: "Exact", value: "/mcp" } }]);
  deepEqual(rule.backendRefs, [{ name: "harbour", port: service.ports[0].port }]);
  deepEqual(rule.timeouts, { request: "0s" });
});

test("only the gateway reaches the pods, and only the pods and its replicas reach the engine", () => {
  const { spec: ours } = find("NetworkPolicy");
  const { spec: engine } = find("NetworkPolicy", "redis");
  for (const { policyTypes } of [ours, engine]) deepEqual(policyTypes, ["Ingress", "Egress"]);
  const enginePort = Number(new URL(find("Secret").stringData?.["cluster-url"] ?? "").port);
  const ports = [{ protocol: "TCP", port: enginePort }];
  const [engines, resolver] = engine.egress;
  deepEqual(engine.ingress, [
    { from: [{ podSelector: ours.podSelector }], ports },
    { from: [{ podSelector: engine.podSelector }], ports },
  ]);
  deepEqual(engines, { to: [{ podSelector: engine.podSelector }], ports });
  deepEqual(ours.egress, [engines, resolver]);
  deepEqual(ours.ingress, [
    {
      from: [
        { podSelector: { matchLabels: { "gateway.networking.k8s.io/gateway-name": find("Gateway").metadata.name } } },
      ],
      ports: [{ protocol: "TCP", port: container.ports[0].containerPort }],
    },
  ]);
});

test("the pods have no rights that they do not need, and their memory is bounded", () => {
  equal(pod.automountServiceAccountToken, false);
  equal(pod.securityContext.runAsNonRoot, true);
  deepEqual(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  match(container.resources.limits.memory, /^\d+Mi$/);
  equal(container.resources.limits.cpu, undefined);
  match(container.image, /:\d+\.\d+\.\d+$/);
});

test("the page quotes the files, apart from the hook", () => {
  ok(blocks.length >= 5);
  deepEqual(
    blocks.filter((block) => !isQuoted(block)),
    [hook],
  );
  for (const file of files) ok(page.includes(`examples/cluster/kubernetes/${file}`), file);
});

/** True if a file contains the lines, all indented by the same depth. */
function isQuoted(block: string): boolean {
  const indented = (depth: number) => block.replace(/^(?=.)/gm, " ".repeat(depth));
  return [0, 2, 4, 6, 8, 10].some((depth) => texts.some((text) => `\n${text}`.includes(`\n${indented(depth)}`)));
}
