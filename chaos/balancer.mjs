import { support } from "./support.mjs";

/** Time without a byte after which nginx gives up a response. Nodes write a comment more often. */
const SILENCE_MS = 2_000;

/**
 * Starts nginx before the nodes, with two ports and without affinity. Behind `plain`, each fault of a node reaches the client. Behind
 * `kind`, a request that could not be sent goes to another node, as in examples/cluster/nginx.conf.
 */
export async function startBalancer(nodes) {
  const { freePort, startNginx } = await support("engines/nginx.js");
  const plain = await freePort();
  const { port, end } = await startNginx((kind) => configOf(nodes, plain, kind));
  return { plain, kind: port, end };
}

function configOf(nodes, plain, kind) {
  const upstream = (rule) => nodes.map((port) => `server 127.0.0.1:${port} ${rule};`).join(" ");
  const server = (port, name, next) =>
    `server { listen 127.0.0.1:${port}; location / { proxy_pass http://${name}; proxy_next_upstream ${next}; } }`;
  return `events { worker_connections 4096; }
http {
  access_log off;
  proxy_buffering off; proxy_request_buffering off;
  proxy_connect_timeout 2s; proxy_read_timeout ${SILENCE_MS}ms; proxy_send_timeout 1h;
  proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_set_header Connection "";
  upstream plain { ${upstream("max_fails=0")} }
  upstream kind { ${upstream("max_fails=1 fail_timeout=1s")} }
  ${server(plain, "plain", "off")}
  ${server(kind, "kind", "error timeout")}
}
`;
}
