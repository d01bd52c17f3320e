import type { JSX } from "preact";
import type { ConnectionState } from "../../inspect/protocol.js";
import { can, inspector, send } from "../link.js";
import { Icon } from "./icon.js";

/** Tells of connections that are not open, with the button that opens one again. */
export function Connections(): JSX.Element | null {
  const { connections = [], mode } = inspector.value ?? {};
  if (mode !== "client") return null;
  const last = connections.at(-1);
  if (connections.some(({ status }) => status === "connecting"))
    return (
      <p class="notice">
        <span class="badge state-open">
          <Icon name="open" /> connecting
        </span>
        {inspector.value?.servers[last?.server ?? 0]?.label}
      </p>
    );
  if (last === undefined || connections.some(({ status }) => status === "open")) return null;
  return <Ended connection={last} />;
}

function Ended({ connection: { status, error, server } }: { readonly connection: ConnectionState }): JSX.Element {
  return (
    <div class="failure bar-failure" role="alert">
      <Icon name="error" />
      <p>
        {status === "failed" ? "The connection failed" : "The connection is closed"}
        {error !== undefined && `: ${error.message}`}
      </p>
      {can("connect") && (
        <button type="button" onClick={() => void send("connect", { server })}>
          Connect
        </button>
      )}
    </div>
  );
}
