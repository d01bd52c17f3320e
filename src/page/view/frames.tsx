import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Span } from "../../recording/spans.js";
import { type FrameKind, type FrameRow, framesOf, type HttpHead } from "../model/frames.js";
import type { Run } from "../model/run.js";
import { durationText, sizeText } from "../model/text.js";
import { Icon, type IconName } from "./icon.js";
import { Json, LongText } from "./json.js";

/** Frames that are shown before the others are asked for. */
const FIRST = 200;

/** Messages of a call in their order, each with its time since the beginning of the call. */
export function Frames({ run, span }: { readonly run: Run; readonly span: Span }): JSX.Element {
  const limit = useSignal(FIRST);
  const rows = framesOf(run, span);
  return (
    <>
      <ol class="frames">
        {rows.slice(0, limit.value).map((row, index) => (
          <li key={`${row.line} ${index}`}>
            <Frame row={row} from={span.from} />
          </li>
        ))}
      </ol>
      {rows.length > limit.value && (
        <button type="button" class="quiet" onClick={() => (limit.value += FIRST * 5)}>
          {`${rows.length - limit.value} more frames`}
        </button>
      )}
    </>
  );
}

const MARKS: Readonly<Partial<Record<FrameKind, IconName>>> = {
  error: "error",
  asks: "asked",
  cancel: "cancelled",
  fault: "warning",
  end: "lost",
};

export function Frame({ row, from }: { readonly row: FrameRow; readonly from: number }): JSX.Element {
  const isOpen = useSignal(false);
  const { d, t, text, exchange, kind, body, size } = row;
  const mark = MARKS[kind];
  const head = (
    <>
      <span class={`direction ${d === ">" ? "to-server" : "to-client"}`}>
        {d !== undefined && <Icon name={d === ">" ? "up" : "down"} />}
        {d !== undefined && <span class="hidden">{d === ">" ? "to the server" : "to the client"}</span>}
      </span>
      <time>{durationText(Math.max(0, t - from))}</time>
      <span class={`frame-text kind-${kind}`}>
        {mark !== undefined && <Icon name={mark} />}
        {text}
      </span>
      <span class="frame-exchange">{exchange}</span>
      <span class="frame-size">{size > 0 ? sizeText(size) : ""}</span>
    </>
  );
  if (body === undefined) return <div class="frame-plain">{head}</div>;
  return (
    <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>{head}</summary>
      {isOpen.value && <FrameBody row={row} />}
    </details>
  );
}

function FrameBody({ row: { body, envelope, http } }: { readonly row: FrameRow }): JSX.Element {
  return (
    <div class="frame-body">
      {typeof body === "string" ? (
        <pre>
          <LongText text={body} />
        </pre>
      ) : (
        <Json value={body} />
      )}
      {envelope !== undefined && <Folded title="Envelope">{() => <Json value={envelope} />}</Folded>}
      {http !== undefined && (
        <Folded title={`HTTP ${http.method} ${http.path}${http.status === undefined ? "" : `, status ${http.status}`}`}>
          {() => <Heads http={http} />}
        </Folded>
      )}
    </div>
  );
}

/** Part that is drawn when it is opened. */
function Folded({ title, children }: { readonly title: string; readonly children: () => JSX.Element }): JSX.Element {
  const isOpen = useSignal(false);
  return (
    <details class="folded" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen.value && children()}
    </details>
  );
}

function Heads({ http }: { readonly http: HttpHead }): JSX.Element {
  return (
    <div class="heads">
      {(
        [
          ["Request", http.headers],
          ["Response", http.responseHeaders],
        ] as const
      ).map(([title, headers]) => (
        <table key={title}>
          <caption>{title}</caption>
          <tbody>
            {Object.entries(headers).map(([name, value]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
    </div>
  );
}
