import * as z from "zod";

/**
 * Shapes of the Kubernetes objects in the manifests, with the fields that they use. The API server drops an unknown field
 * with a warning only, so that each object is strict here. A field that a manifest is to use for the first time is added.
 */
const name = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
const host = z.string().regex(/^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/);
const count = z.int().min(0);
const positive = z.int().min(1);
const port = z.int().min(1).max(65_535);
const portName = z.string().regex(/^(?=.*[a-z])[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?$/);
const labels = z.record(
  z.string().regex(/^([a-z0-9][-a-z0-9.]*\/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/),
  z.string().regex(/^([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?$/),
);
const selector = z.strictObject({ matchLabels: labels });
const metadata = z.strictObject({ name, labels: labels.optional() });
/** Number or percentage of pods. */
const share = z.union([count, z.string().regex(/^\d+%$/)]);
const protocol = z.enum(["TCP", "UDP", "SCTP"]);

const UNITS: Readonly<Record<string, number>> = {
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};
const QUANTITY = /^(\d+(?:\.\d+)?)(m|k|M|G|Ki|Mi|Gi|)$/;
const quantity = z.string().regex(QUANTITY);

/** Returns the value of a quantity, such as 0.25 for `250m`. */
function amountOf(text: string): number {
  const [, digits = "", unit = ""] = QUANTITY.exec(text) ?? [];
  return Number(digits) * (UNITS[unit] ?? Number.NaN);
}

const amounts = z.partialRecord(z.enum(["cpu", "memory", "ephemeral-storage"]), quantity);
const resources = z.strictObject({ requests: amounts.optional(), limits: amounts.optional() }).refine(
  ({ requests = {}, limits = {} }) =>
    Object.entries(requests).every(([key, request]) => {
      const limit = limits[key as keyof typeof limits];
      return limit === undefined || amountOf(request) <= amountOf(limit);
    }),
  "a request is above its limit",
);

const seccompProfile = z.strictObject({ type: z.enum(["RuntimeDefault", "Unconfined"]) });
const rights = {
  runAsNonRoot: z.boolean().optional(),
  runAsUser: count.optional(),
  seccompProfile: seccompProfile.optional(),
};
const isNotRoot = (context: { readonly runAsNonRoot?: boolean | undefined; readonly runAsUser?: number | undefined }) =>
  context.runAsNonRoot !== true || context.runAsUser !== 0;
const ROOT = "runAsUser is root although runAsNonRoot is set";

const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string().startsWith("/"), port: z.union([port, portName]) }),
  initialDelaySeconds: count.optional(),
  periodSeconds: positive.optional(),
  timeoutSeconds: positive.optional(),
  failureThreshold: positive.optional(),
});

const reference = z.strictObject({ name, key: z.string().regex(/^[-\w.]+$/) });
const variable = z.union([
  z.strictObject({ name: z.string().regex(/^[A-Z_]+$/), value: z.string() }),
  z.strictObject({
    name: z.string().regex(/^[A-Z_]+$/),
    valueFrom: z.union([
      z.strictObject({ secretKeyRef: reference }),
      z.strictObject({
        fieldRef: z.strictObject({ fieldPath: z.enum(["metadata.name", "metadata.namespace", "status.podIP"]) }),
      }),
    ]),
  }),
]);

const container = z.strictObject({
  name,
  image: z.string(),
  command: z.array(z.string()).optional(),
  ports: z.array(z.strictObject({ name: portName.optional(), containerPort: port, protocol: protocol.optional() })),
  env: z.array(variable),
  lifecycle: z.strictObject({ preStop: z.strictObject({ sleep: z.strictObject({ seconds: positive }) }) }).optional(),
  readinessProbe: probe,
  livenessProbe: probe,
  resources,
  securityContext: z
    .strictObject({
      ...rights,
      allowPrivilegeEscalation: z.boolean(),
      readOnlyRootFilesystem: z.boolean(),
      capabilities: z.strictObject({ drop: z.array(z.string()) }),
    })
    .refine(isNotRoot, ROOT),
});

const pod = z.strictObject({
  terminationGracePeriodSeconds: count,
  automountServiceAccountToken: z.boolean(),
  securityContext: z.strictObject(rights).refine(isNotRoot, ROOT),
  topologySpreadConstraints: z.array(
    z.strictObject({
      maxSkew: positive,
      topologyKey: z.string(),
      whenUnsatisfiable: z.enum(["DoNotSchedule", "ScheduleAnyway"]),
      labelSelector: selector,
    }),
  ),
  containers: z.array(container).min(1),
});

const deployment = z.strictObject({
  revisionHistoryLimit: count,
  selector,
  strategy: z.strictObject({
    type: z.literal("RollingUpdate"),
    rollingUpdate: z
      .strictObject({ maxUnavailable: share, maxSurge: share })
      .refine(({ maxUnavailable, maxSurge }) => maxUnavailable !== 0 || maxSurge !== 0, "both are 0"),
  }),
  template: z.strictObject({ metadata: z.strictObject({ labels }), spec: pod }),
});

const service = z.strictObject({
  selector: labels,
  ports: z.array(z.strictObject({ name: portName, port, targetPort: z.union([port, portName]) })).min(1),
});

const budget = z.strictObject({
  maxUnavailable: share,
  unhealthyPodEvictionPolicy: z.enum(["AlwaysAllow", "IfHealthyBudget"]),
  selector,
});

const scaling = z
  .strictObject({
    scaleTargetRef: z.strictObject({ apiVersion: z.string(), kind: z.string(), name }),
    minReplicas: positive,
    maxReplicas: positive,
    metrics: z.array(
      z.strictObject({
        type: z.literal("Resource"),
        resource: z.strictObject({
          name: z.enum(["cpu", "memory"]),
          target: z.strictObject({ type: z.literal("Utilization"), averageUtilization: positive }),
        }),
      }),
    ),
    behavior: z.strictObject({
      scaleDown: z.strictObject({
        stabilizationWindowSeconds: count.max(3_600),
        policies: z.array(
          z.strictObject({ type: z.enum(["Pods", "Percent"]), value: positive, periodSeconds: positive.max(1_800) }),
        ),
      }),
    }),
  })
  .refine(({ minReplicas, maxReplicas }) => minReplicas <= maxReplicas, "minReplicas is above maxReplicas");

const peers = z.array(
  z.union([z.strictObject({ podSelector: selector }), z.strictObject({ namespaceSelector: selector })]),
);
const networkPorts = z.array(z.strictObject({ protocol, port }));
const policy = z.strictObject({
  podSelector: selector,
  policyTypes: z.array(z.enum(["Ingress", "Egress"])),
  ingress: z.array(z.strictObject({ from: peers, ports: networkPorts })),
  egress: z.array(z.strictObject({ to: peers, ports: networkPorts })),
});

const gateway = z.strictObject({
  gatewayClassName: z.string().min(1),
  listeners: z
    .array(
      z.strictObject({
        name,
        hostname: host,
        port,
        protocol: z.literal("HTTPS"),
        tls: z.strictObject({
          mode: z.enum(["Terminate", "Passthrough"]),
          certificateRefs: z.array(z.strictObject({ name })).min(1),
        }),
      }),
    )
    .min(1),
});

const duration = z.string().regex(/^([0-9]{1,5}(h|m|s|ms)){1,4}$/);
const route = z.strictObject({
  parentRefs: z.array(z.strictObject({ name, sectionName: name })),
  hostnames: z.array(host),
  rules: z.array(
    z.strictObject({
      matches: z.array(
        z.strictObject({
          path: z.strictObject({ type: z.enum(["Exact", "PathPrefix"]), value: z.string().startsWith("/") }),
        }),
      ),
      backendRefs: z.array(z.strictObject({ name, port })),
      timeouts: z.strictObject({ request: duration, backendRequest: duration.optional() }),
    }),
  ),
});

const object = (apiVersion: string, kind: string, members: Readonly<Record<string, z.ZodType>>) =>
  z.strictObject({ apiVersion: z.literal(apiVersion), kind: z.literal(kind), metadata, ...members });

const SHAPES = [
  object("apps/v1", "Deployment", { spec: deployment }),
  object("autoscaling/v2", "HorizontalPodAutoscaler", { spec: scaling }),
  object("gateway.networking.k8s.io/v1", "Gateway", { spec: gateway }),
  object("gateway.networking.k8s.io/v1", "HTTPRoute", { spec: route }),
  object("networking.k8s.io/v1", "NetworkPolicy", { spec: policy }),
  object("policy/v1", "PodDisruptionBudget", { spec: budget }),
  object("v1", "Secret", { type: z.literal("Opaque"), stringData: z.record(z.string(), z.string()) }),
  object("v1", "Service", { spec: service }),
];

/** Returns the parts of an object that Kubernetes would refuse or drop, each as a path and a problem. */
export function problemsOf(manifest: { readonly kind: string }): readonly string[] {
  const shape = SHAPES.find(({ shape: { kind } }) => kind.value === manifest.kind);
  if (shape === undefined) return [`kind: ${manifest.kind} has no shape`];
  const { error } = shape.safeParse(manifest);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);
}
