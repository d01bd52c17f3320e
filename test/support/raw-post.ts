import { once } from "node:events";
import { connect } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly body: string;
}

/** Posts over a bare socket, so that header lines go out exactly as given, byte for byte in Latin-1. */
export async function rawPost(
  port: number,
  lines: readonly string[],
  body: unknown,
  method = "POST",
): Promise<RawAnswer> {
  const text = Buffer.from(JSON.stringify(body) ?? "");
  const head = [
    `${method} /mcp HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
    `Content-Length: ${text.byteLength}`,
    ...lines,
  ];
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), text]));
  await once(socket, "close");
  return { status: Number(answer.slice(9, 12)), body: answer.slice(answer.indexOf("\r\n\r\n") + 4) };
}
