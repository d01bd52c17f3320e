import type { JSX } from "preact";
import type { Span } from "../../recording/spans.js";
import { compareFrames, hasSameResult, type Side } from "../model/compare.js";
import { countText, durationText, sizeText } from "../model/text.js";
import { chosenOther, comparedRuns, other, pick, picked, runs, shown, tab } from "../state.js";
import { Badge } from "./badge.js";
import { Frame } from "./frames.js";
import { Windowed } from "./windowed.js";

/** Two calls side by side, with the frames that mean the same in one line. */
export function CompareCalls({ a, b }: { readonly a: Side; readonly b: Side }): JSX.Element {
  const rows = compareFrames(a, b);
  return (
    <div class="compare">
      <p class={hasSameResult(a, b) ? "verdict-same" : "verdict-other"}>
        {hasSameResult(a, b) ? "Both have the same result." : "The results differ."}
      </p>
      <div class="compare-grid">
        {[a, b].map((side) => (
          <div class="compare-head" key={`${side.run.name} ${side.span.line}`}>
            <strong>{titleOf(side, a.run !== b.run)}</strong>
            <Badge span={side.span} />
            <span class="facts">
              {[
                durationText(side.span.to - side.span.from),
                sizeText(side.span.size),
                countText(side.span.rounds.length, "round"),
              ].join("  ·  ")}
            </span>
          </div>
        ))}
        {rows.map((row, index) =>
          (["a", "b"] as const).map((side) => {
            const frame = row[side];
            return (
              <div class={`compare-cell ${row.isSame === false ? "differs" : ""}`} key={`${index} ${side}`}>
                {frame === undefined ? (
                  <span class="hidden">nothing</span>
                ) : (
                  <Frame row={frame} from={(side === "a" ? a : b).span.from} />
                )}
                {side === "b" && row.isSame === false && <span class="differs-note">differs</span>}
              </div>
            );
          }),
        )}
      </div>
    </div>
  );
}

function titleOf({ run: of, span }: Side, isRun: boolean): string {
  const connection = of.connection(span.c);
  const version = connection?.version ?? `connection ${span.c}`;
  return isRun ? `${of.name}, ${version}` : version;
}

/** Tells how much longer a call took in the other run. */
function slowerText(a: Span | undefined, b: Span | undefined): string {
  if (a === undefined || b === undefined) return "";
  const more = b.to - b.from - (a.to - a.from);
  return more === 0 ? "" : `${more > 0 ? "+" : "−"}${durationText(Math.abs(more))}`;
}

/** Two runs by their calls. */
export function ComparePanel(): JSX.Element {
  const found = comparedRuns.value;
  return (
    <div class="panel-body">
      <div class="panel-head">
        <label>
          <span>Compare with</span>
          <select
            value={other.value === undefined ? "" : String(other.value)}
            onChange={(event) =>
              (chosenOther.value = event.currentTarget.value === "" ? undefined : Number(event.currentTarget.value))
            }
          >
            <option value="">–</option>
            {runs.value.map((each, index) =>
              index === shown.value ? null : (
                <option key={`${index} ${each.name}`} value={String(index)}>
                  {each.name}
                </option>
              ),
            )}
          </select>
        </label>
      </div>
      {runs.value.length < 2 && <p class="hint">Open a second recording to compare the calls of both.</p>}
      {found !== undefined && (
        <Windowed
          label="Calls of both runs"
          items={found.calls}
          rowHeight={26}
          keyOf={({ a, b }) => `${a?.line ?? ""}-${b?.line ?? ""}`}
          isPicked={({ a }) => a !== undefined && a.line === picked.value}
          onPick={({ a }) => {
            pick(a?.line);
            tab.value = "compare";
          }}
        >
          {({ label, difference, a, b }) => (
            <>
              <span class={`difference ${difference === "same" ? "same" : "other"}`}>
                {difference === "same" ? "=" : difference.startsWith("only") ? "1" : "≠"}
              </span>
              <span class="row-name">{label}</span>
              <span class="row-note">{difference === "same" ? slowerText(a, b) : difference}</span>
            </>
          )}
        </Windowed>
      )}
    </div>
  );
}
