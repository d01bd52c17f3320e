import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { HeldToken } from "../../inspect/protocol.js";
import { can, inspector, send } from "../link.js";
import { loginOf } from "../model/login.js";
import { durationText } from "../model/text.js";
import { picked, run, shown } from "../state.js";
import { pickSeen } from "./timeline.js";

/** Way of a login: each address that was asked, and what is held now. */
export function LoginPanel(): JSX.Element {
  const now = run.value;
  const steps = now === undefined ? [] : loginOf(now.events);
  return (
    <div class="panel-body">
      {shown.value === 0 && <LoginStates />}
      <section class="scroll" tabIndex={0} aria-label="Steps of the login">
        {steps.length === 0 && <p class="hint">No step of authorization in this run.</p>}
        {steps.length > 0 && (
          <ol class="waterfall">
            {steps.map(({ event, step, url, state, told, us, left, width }) => (
              <li key={event.line}>
                <button
                  type="button"
                  aria-pressed={event.line === picked.value}
                  onClick={() => pickSeen(now?.spanAt(event.line))}
                >
                  <span class="water-step">{step}</span>
                  <span class={`water-state water-${state}`}>
                    {told} <span class="hidden">{state === "next" ? "tried the next address" : state}</span>
                  </span>
                  <span class="row-note">{durationText(us)}</span>
                  <span class="water-url" title={url}>
                    {url}
                  </span>
                  <span class="water-track" aria-hidden="true">
                    <i
                      class={`water-${state}`}
                      style={{ left: `${left * 100}%`, width: `max(2px, ${width * 100}%)` }}
                    />
                  </span>
                </button>
              </li>
            ))}
          </ol>
        )}
      </section>
    </div>
  );
}

function LoginStates(): JSX.Element {
  return (
    <>
      {(inspector.value?.servers ?? []).map(({ label, login }, server) =>
        login === undefined ? null : (
          <article class="card" key={label}>
            <p>
              <strong>{label}</strong>{" "}
              <span class="facts">
                {
                  {
                    none: "no login",
                    needed: "login needed",
                    "in the browser": "waits for the browser",
                    done: "logged in",
                  }[login.status]
                }
              </span>
            </p>
            {login.issuer !== undefined && <p class="muted">{login.issuer}</p>}
            {login.url !== undefined && /^https?:/.test(login.url) && (
              <p>
                <a href={login.url} target="_blank" rel="noopener noreferrer">
                  Open the login
                </a>
              </p>
            )}
            {login.tokens.map((token) => (
              <Token key={`${token.name} ${token.digest}`} server={server} token={token} />
            ))}
            <p class="card-actions">
              {can("login") && (
                <button type="button" onClick={() => void send("login", { server })}>
                  {login.status === "done" ? "Log in again" : "Log in"}
                </button>
              )}
              {can("logout") && login.status === "done" && (
                <button type="button" onClick={() => void send("logout", { server })}>
                  Log out
                </button>
              )}
            </p>
          </article>
        ),
      )}
    </>
  );
}

/** Token without its text, which is shown for a while on demand. */
function Token({ server, token }: { readonly server: number; readonly token: HeldToken }): JSX.Element {
  const text = useSignal<string | undefined>(undefined);
  const { name, type, length, digest, expiresAt } = token;
  const reveal = async () => {
    const told = await send("reveal", { server, token: name });
    if (told === undefined) return;
    text.value = told.text;
    setTimeout(() => (text.value = undefined), Math.max(0, told.until - Date.now()));
  };
  return (
    <p class="token">
      <strong>{`${name} token`}</strong>{" "}
      <span class="muted">
        {`${type}, ${length} characters, SHA-256 ${digest}…${expiresAt === undefined ? "" : `, until ${new Date(expiresAt).toLocaleTimeString()}`}`}
      </span>{" "}
      {text.value === undefined ? (
        can("reveal") && (
          <button type="button" class="quiet" onClick={() => void reveal()}>
            reveal for 30 s
          </button>
        )
      ) : (
        <code class="address">{text.value}</code>
      )}
    </p>
  );
}
