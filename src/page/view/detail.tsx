import type { JSX } from "preact";
import type { Span } from "../../recording/spans.js";
import { counterpartOf } from "../model/compare.js";
import type { Run } from "../model/run.js";
import { countText, durationText, labelOf, sizeText } from "../model/text.js";
import { other, run, runs, span, type Tab, tab } from "../state.js";
import { Badge } from "./badge.js";
import { CallForm } from "./call-form.js";
import { CompareCalls } from "./compare.js";
import { CopyMenu } from "./copy-menu.js";
import { Frames } from "./frames.js";
import { Icon } from "./icon.js";
import { Keys, type KeyTable } from "./keys.js";
import { QuestionCard } from "./question.js";
import { Result } from "./result.js";
import { RunActions } from "./run-actions.js";
import { Tabs } from "./tabs.js";

/** The picked call: what it is, what happened, and what can be done with it. */
export function Detail(): JSX.Element {
  const now = run.value;
  const own = span.value;
  return (
    <section class="detail" id="detail" aria-label="Detail" tabIndex={-1}>
      {now === undefined || own === undefined ? <Empty run={now} /> : <SpanDetail run={now} span={own} />}
    </section>
  );
}

const FIRST_KEYS: KeyTable = [
  ["← →", "previous and next call"],
  ["↑ ↓", "another lane"],
  ["Enter", "detail of the call"],
  ["/", "filter"],
  ["+  −  0", "zoom, show all"],
  ["?", "all keys"],
];

function Empty({ run: now }: { readonly run: Run | undefined }): JSX.Element {
  return (
    <div class="empty">
      <p>{now === undefined || now.spans.length === 0 ? "Open a recording, or wait for traffic." : "Select a call."}</p>
      <Keys of={FIRST_KEYS} />
    </div>
  );
}

function SpanDetail({ run: now, span: own }: { readonly run: Run; readonly span: Span }): JSX.Element {
  const isCall = own.method !== undefined && own.lane !== "stderr" && own.lane !== "auth";
  const second = other.value === undefined ? now : runs.value[other.value];
  const counterpart = second === undefined || !isCall ? undefined : counterpartOf(now, own, second);
  const names: (readonly [Tab, string])[] = [["frames", "Frames"]];
  if (isCall) names.push(["result", "Result"], ["form", "Arguments"]);
  if (counterpart !== undefined) names.push(["compare", second === now ? "Both sides" : "Compare"]);
  const chosen = names.some(([name]) => name === tab.value) ? tab.value : "frames";
  const facts = [
    durationText(own.to - own.from),
    own.rounds.length > 1 ? `${own.rounds.length} rounds` : undefined,
    own.size > 0 ? sizeText(own.size) : undefined,
    countText(own.lines.length, "frame"),
  ].filter((fact) => fact !== undefined);
  return (
    <>
      <header class="detail-head">
        <h2 title={labelOf(own)}>{labelOf(own)}</h2>
        <Badge span={own} />
        <span class="facts">{facts.join("  ·  ")}</span>
        <div class="actions">
          {isCall && <RunActions run={now} span={own} />}
          {isCall && <CopyMenu run={now} span={own} />}
        </div>
      </header>
      {own.error !== undefined && <Failure error={own.error} />}
      {now.questionsIn(own).map((question) => (
        <QuestionCard key={question.line} run={now} question={question} />
      ))}
      <Tabs
        label="Parts of the call"
        names={names}
        chosen={chosen}
        onChoose={(name) => (tab.value = name)}
        controls="detail-part"
      />
      <div
        class="detail-part"
        id="detail-part"
        role="tabpanel"
        aria-labelledby={`tab-${chosen}`}
        tabIndex={0}
        key={`${own.line} ${chosen}`}
      >
        {chosen === "frames" && <Frames run={now} span={own} />}
        {chosen === "result" && <Result run={now} span={own} />}
        {chosen === "form" && <CallForm run={now} span={own} />}
        {chosen === "compare" && second !== undefined && counterpart !== undefined && (
          <CompareCalls a={{ run: now, span: own }} b={{ run: second, span: counterpart }} />
        )}
      </div>
    </>
  );
}

/** What the caller of a failed call knows: whether it reached the server, and whether it may be repeated. */
function Failure({ error }: { readonly error: NonNullable<Span["error"]> }): JSX.Element {
  const { code, message, delivery, retrySafe } = error;
  return (
    <div class="failure">
      <Icon name="error" />
      <div>
        <p>
          <code>{code}</code> {message}
        </p>
        <p class="muted">
          {[
            delivery === undefined ? undefined : `Delivery: ${delivery.replaceAll("_", " ")}.`,
            retrySafe === undefined
              ? undefined
              : retrySafe
                ? "It is safe to repeat the call."
                : "It is not safe to repeat the call.",
          ]
            .filter((each) => each !== undefined)
            .join(" ")}
        </p>
      </div>
    </div>
  );
}
