import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { isObject } from "../../protocol/json.js";
import type { Span } from "../../recording/spans.js";
import { framesOf } from "../model/frames.js";
import type { Run } from "../model/run.js";
import { sizeText } from "../model/text.js";
import { Json, LongText } from "./json.js";

/** What a call returned: texts as they are read, pictures, and all else as a tree. */
export function Result({ run, span }: { readonly run: Run; readonly span: Span }): JSX.Element {
  const frame = framesOf(run, span).findLast(({ kind }) => kind === "result" || kind === "error");
  if (frame === undefined)
    return <p class="hint">{span.state === "open" ? "No result yet." : "The call ended without a result."}</p>;
  const body = isObject(frame.body) ? (frame.body as { readonly [key: string]: unknown }) : {};
  const { content, contents, messages, structuredContent, ...rest } = body;
  const parts = [content, contents].filter(Array.isArray).flat();
  const said = Array.isArray(messages) ? messages : [];
  return (
    <div class="result">
      {parts.map((part, index) => (
        <Part key={index} part={part} />
      ))}
      {said.filter(isObject).map((message, index) => {
        const { role, content: own } = message as { readonly role?: unknown; readonly content?: unknown };
        return (
          <section key={index}>
            <h3>{String(role)}</h3>
            <Part part={own} />
          </section>
        );
      })}
      {structuredContent !== undefined && (
        <section>
          <h3>Structured</h3>
          <Json value={structuredContent} />
        </section>
      )}
      {Object.keys(rest).length > 0 && <Json value={rest} />}
    </div>
  );
}

/** Types of pictures that are shown. Others could contain scripts or links. */
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

function Part({ part }: { readonly part: unknown }): JSX.Element {
  const { type, text, data, mimeType, blob, uri, resource } = (isObject(part) ? part : {}) as {
    readonly [key: string]: unknown;
  };
  if (typeof text === "string")
    return (
      <pre class="result-text">
        <LongText text={text} />
      </pre>
    );
  const base64 = data ?? blob;
  if (typeof base64 === "string" && PICTURES.includes(String(mimeType)))
    return <Picture base64={base64} type={String(mimeType)} />;
  if (typeof base64 === "string")
    return <p class="muted">{`${String(mimeType ?? type)}, about ${sizeText(Math.round(base64.length * 0.75))}`}</p>;
  if (isObject(resource)) return <Part part={resource} />;
  if (typeof uri === "string") return <code>{uri}</code>;
  return <Json value={part} />;
}

/** Picture from the text of a message. Nothing is loaded for it. */
function Picture({ base64, type }: { readonly base64: string; readonly type: string }): JSX.Element {
  const url = useSignal<string | undefined>(undefined);
  const hasFailed = useSignal(false);
  useEffect(() => {
    let made: string | undefined;
    try {
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      made = URL.createObjectURL(new Blob([bytes], { type }));
      url.value = made;
    } catch {
      hasFailed.value = true;
    }
    return () => {
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [base64, type]);
  if (hasFailed.value) return <p class="problem">The picture is not base64.</p>;
  return (
    <img
      class="picture"
      src={url.value ?? "data:,"}
      alt={`${type}, part of the result`}
      onError={() => (hasFailed.value = url.value !== undefined)}
    />
  );
}
