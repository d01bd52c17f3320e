import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { DirectionFaults, FaultPlan } from "../../inspect/protocol.js";
import type { FaultEvent } from "../../recording/events.js";
import type { NumberedEvent } from "../../recording/reader.js";
import { can, connectionOf, inspector, send } from "../link.js";
import { durationText } from "../model/text.js";
import { announce, run, shown } from "../state.js";
import { pickSeen } from "./timeline.js";

/** Faults of a connection, and those that were injected. */
export function FaultsPanel(): JSX.Element {
  const now = run.value;
  const injected = (now?.events ?? []).filter((event): event is FaultEvent & NumberedEvent => event.k === "fault");
  const connection = connectionOf(now?.spanAt(undefined)?.c);
  const isLive = shown.value === 0 && can("faults") && connection !== undefined;
  return (
    <div class="panel-body">
      <section class="scroll" tabIndex={0} aria-label="Faults of the connection">
        {isLive && <FaultForm key={connection} connection={connection} />}
        {!isLive && injected.length === 0 && <p class="hint">No fault was injected in this run.</p>}
        {injected.length > 0 && (
          <>
            <h2 class="section">Injected</h2>
            <ol class="injected">
              {injected.slice(-200).map((event) => (
                <li key={event.line}>
                  <button
                    type="button"
                    class="quiet"
                    onClick={() =>
                      pickSeen(now?.spans.find(({ marks }) => marks.some(({ line }) => line === event.line)))
                    }
                  >
                    {`${durationText(event.t)}  ${event.what}${event.d === undefined ? "" : event.d === ">" ? "  to the server" : "  to the client"}`}
                  </button>
                </li>
              ))}
            </ol>
          </>
        )}
      </section>
    </div>
  );
}

const NAMES = ["delayMs", "drop", "duplicate", "cutAfter"] as const;
const TITLES: Readonly<Record<(typeof NAMES)[number], readonly [string, string]>> = {
  delayMs: ["delay", "ms"],
  drop: ["drop 1 in", "frames"],
  duplicate: ["duplicate 1 in", "frames"],
  cutAfter: ["cut after", "frames"],
};

function FaultForm({ connection }: { readonly connection: number }): JSX.Element {
  const state = inspector.value?.connections.find((each) => each.connection === connection);
  const plan = useSignal<FaultPlan>(state?.faults ?? { on: false });
  const isHttp = inspector.value?.servers[state?.server ?? -1]?.wire === "http";
  const apply = (next: FaultPlan) => {
    plan.value = next;
    void send("faults", { connection, plan: next }).then(
      (done) => done !== undefined && announce(next.on ? "Faults are on." : "Faults are off."),
    );
  };
  const set = (change: Partial<FaultPlan>) => (plan.value = { ...plan.value, ...change });
  const direction = (side: "toServer" | "toClient", title: string) => (
    <fieldset>
      <legend>{title}</legend>
      {NAMES.map((name) => (
        <label class="fault" key={name}>
          <span>{TITLES[name][0]}</span>
          <input
            type="text"
            inputMode="numeric"
            value={plan.value[side]?.[name] ?? ""}
            onInput={(event) => set({ [side]: withNumber(plan.value[side], name, event.currentTarget.value) })}
          />
          <span class="muted">{TITLES[name][1]}</span>
        </label>
      ))}
    </fieldset>
  );
  return (
    <form
      class="faults"
      onSubmit={(event) => {
        event.preventDefault();
        apply({ ...plan.value, on: true });
      }}
    >
      <div class="fault-now">
        {(["cut", "stall", "flow"] as const).map((now) => (
          <button type="button" key={now} onClick={() => void send("faults", { connection, now })}>
            {{ cut: "Cut now", stall: "Stall", flow: "Flow" }[now]}
          </button>
        ))}
      </div>
      {direction("toServer", "To the server")}
      {direction("toClient", "To the client")}
      {isHttp && (
        <fieldset>
          <legend>HTTP</legend>
          <label class="fault">
            <span>answer with status</span>
            <input
              type="text"
              inputMode="numeric"
              placeholder="503"
              value={plan.value.http?.status ?? ""}
              onInput={(event) =>
                set({
                  http:
                    numberOf(event.currentTarget.value) === undefined
                      ? undefined
                      : { status: numberOf(event.currentTarget.value) as number },
                })
              }
            />
            <span class="muted">next request</span>
          </label>
        </fieldset>
      )}
      <fieldset>
        <legend>Only</legend>
        {(["method", "name"] as const).map((name) => (
          <label class="fault" key={name}>
            <span>{name}</span>
            <input
              type="text"
              value={plan.value.match?.[name] ?? ""}
              placeholder={name === "method" ? "tools/call" : ""}
              onInput={(event) =>
                set({ match: { ...plan.value.match, [name]: event.currentTarget.value || undefined } })
              }
            />
          </label>
        ))}
        <label class="fault">
          <span>seed</span>
          <input
            type="text"
            inputMode="numeric"
            value={plan.value.seed ?? ""}
            onInput={(event) => set({ seed: numberOf(event.currentTarget.value) })}
          />
        </label>
      </fieldset>
      <div class="form-actions">
        <button type="submit" class="primary">
          {plan.value.on ? "Apply" : "Switch on"}
        </button>
        {plan.value.on && (
          <button type="button" onClick={() => apply({ ...plan.value, on: false })}>
            Switch off
          </button>
        )}
        <span class="facts">{plan.value.on ? "on" : "off"}</span>
      </div>
    </form>
  );
}

function withNumber(faults: DirectionFaults | undefined, name: (typeof NAMES)[number], text: string): DirectionFaults {
  return { ...faults, [name]: numberOf(text) };
}

/** Reads a whole number above 0. Undefined for anything else, which is then not sent. */
function numberOf(text: string): number | undefined {
  const number = Number(text);
  return text !== "" && Number.isInteger(number) && number > 0 ? number : undefined;
}
