import { BEGUN_ONLY } from "./node/cuts.mjs";
import { support } from "./support.mjs";

/** Time without a byte after which nginx gives up a response. Nodes write a comment more often. */
const SILENCE_MS = 2_000;

/**
 * Starts nginx before the nodes, with two ports and without affinity. Behind `plain`, each fault of a node reaches the client. Behind
 * `kind`, a request that could not be sent goes to another node, as in examples/cluster/nginx.conf. There, nginx takes a node whose
 * response does not begin for dead, so that nodes must not cut such connections.
 */
export async function startBalancer(nodes) {
  const { freePort, startNginx } = await support("engines/nginx.js");
  const plain = await freePort();
  const { port, end } = await startNginx((kind) => configOf(nodes, plain, kind));
  return { plain, kind: port, end };
}

function configOf(nodes, plain, kind) {
  const upstream = (rule) => nodes.map((port) => `server 127.0.0.1:${port} ${rule};`).join(" ");
  const server = (port, name, rules) =>
    `server { listen 127.0.0.1:${port}; location / { proxy_pass http://${name}; ${rules} } }`;
  const always = 'proxy_set_header Host $http_host; proxy_set_header Connection "";';
  return `events { worker_connections 4096; }
http {
  access_log off;
  proxy_buffering off; proxy_request_buffering off;
  proxy_connect_timeout 2s; proxy_read_timeout ${SILENCE_MS}ms; proxy_send_timeout 1h;
  proxy_http_version 1.1;
  upstream plain { ${upstream("max_fails=0")} }
  upstream kind { ${upstream("max_fails=1 fail_timeout=1s")} }
  ${server(plain, "plain", `${always} proxy_next_upstream off;`)}
  ${server(kind, "kind", `${always} proxy_set_header ${BEGUN_ONLY} 1; proxy_next_upstream error timeout;`)}
}
`;
}
