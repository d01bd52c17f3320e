import { freePort, startNginx } from "../engines/nginx.js";

/** nginx before groups of nodes. */
export interface Balancer {
  /** Ports of nginx on 127.0.0.1, one for each group. */
  readonly ports: readonly number[];
  end(): Promise<void>;
}

/** Starts nginx on free ports. Each group is the ports of some nodes, which get the requests in turn. */
export async function startBalancer(groups: readonly (readonly number[])[]): Promise<Balancer> {
  const others = await Promise.all(groups.slice(1).map(freePort));
  // nginx listens on its ports in this order. The start is complete when the last one accepts connections.
  const { port, end } = await startNginx((last) => configOf([...others, last], groups));
  return { ports: [...others, port], end };
}

/**
 * Round robin for each request. Nothing is buffered, tried again or kept open, so that each fault of a node reaches the
 * client.
 */
function configOf(ports: readonly number[], groups: readonly (readonly number[])[]): string {
  const servers = groups.map((nodes, index) => {
    const upstream = nodes.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(" ");
    return `upstream nodes${index} { ${upstream} }
  server { listen 127.0.0.1:${ports[index]}; location / { proxy_pass http://nodes${index}; } }`;
  });
  return `events { worker_connections 1024; }
http {
  access_log off;
  client_max_body_size 0; large_client_header_buffers 8 64k; proxy_buffer_size 64k; proxy_buffers 8 64k;
  ignore_invalid_headers off; underscores_in_headers on;
  proxy_buffering off; proxy_request_buffering off; proxy_next_upstream off; proxy_read_timeout 1h; proxy_send_timeout 1h;
  proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_set_header Connection ""; proxy_pass_header X-Accel-Buffering;
  ${servers.join("\n  ")}
}
`;
}
