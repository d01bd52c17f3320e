import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { isObject } from "../../protocol/json.js";
import type { JsonObject } from "../../protocol/types/index.js";
import { can, send } from "../link.js";
import { type Entered, fieldsOf, initialOf, type Schema, valuesOf } from "../model/form.js";
import type { Question, Run } from "../model/run.js";
import { announce } from "../state.js";
import { Icon } from "./icon.js";
import { Json } from "./json.js";
import { Fields } from "./schema-form.js";

/** Question of the server, in its call. */
export function QuestionCard({ run, question }: { readonly run: Run; readonly question: Question }): JSX.Element {
  const { method, params, c } = question;
  const connection = run.connection(c);
  const from = connection?.open.server?.url ?? connection?.open.server?.command;
  const canAnswer = can("answer");
  return (
    <section class="question" aria-label="Question of the server">
      <p class="question-head">
        <Icon name="asked" /> The server <strong>{connection?.server ?? "of this connection"}</strong>
        {from !== undefined && <span class="muted">({from})</span>} asks:
      </p>
      {typeof params.message === "string" && <p class="question-text">{params.message}</p>}
      {method === "elicitation/create" && params.mode === "url" && typeof params.url === "string" ? (
        <UrlQuestion question={question} url={params.url} canAnswer={canAnswer} />
      ) : method === "elicitation/create" ? (
        <FormQuestion question={question} canAnswer={canAnswer} />
      ) : (
        <OtherQuestion question={question} canAnswer={canAnswer} />
      )}
      <p class="muted">Give a server only what you would give to its owner.</p>
    </section>
  );
}

interface QuestionProps {
  readonly question: Question;
  readonly canAnswer: boolean;
}

async function answer({ c, n }: Question, result: JsonObject): Promise<void> {
  if ((await send("answer", { c, n, result })) !== undefined) announce("Answered.");
}

function Refusals({ question, canAnswer }: QuestionProps): JSX.Element {
  return (
    <>
      <button type="button" disabled={!canAnswer} onClick={() => void answer(question, { action: "decline" })}>
        Decline
      </button>
      <button type="button" disabled={!canAnswer} onClick={() => void answer(question, { action: "cancel" })}>
        Cancel
      </button>
    </>
  );
}

function FormQuestion({ question, canAnswer }: QuestionProps): JSX.Element {
  const schema = isObject(question.params.requestedSchema) ? (question.params.requestedSchema as Schema) : {};
  const fields = fieldsOf(schema);
  const entered = useSignal<Entered>(initialOf(fields));
  const wasSent = useSignal(false);
  const values = useComputed(() => valuesOf(fields, entered.value));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        wasSent.value = true;
        if (values.value.problems.size === 0)
          void answer(question, { action: "accept", content: values.value.value as JsonObject });
      }}
    >
      <Fields
        fields={fields}
        entered={entered}
        problems={wasSent.value ? values.value.problems : new Map()}
        prefix={`question-${question.line}`}
      />
      <div class="form-actions">
        <button type="submit" class="primary" disabled={!canAnswer}>
          Accept
        </button>
        <Refusals question={question} canAnswer={canAnswer} />
      </div>
    </form>
  );
}

function UrlQuestion({ question, url, canAnswer }: QuestionProps & { readonly url: string }): JSX.Element {
  const isWeb = /^https?:\/\//i.test(url);
  return (
    <>
      <p>
        It wants you to open {isWeb && <strong>{URL.canParse(url) ? new URL(url).host : "an address"}</strong>}:{" "}
        <code class="address">{url}</code>
      </p>
      <div class="form-actions">
        {isWeb && (
          <a
            class="button primary"
            href={url}
            target="_blank"
            rel="noopener noreferrer"
            onClick={() => void answer(question, { action: "accept" })}
          >
            Open the address
          </a>
        )}
        <Refusals question={question} canAnswer={canAnswer} />
      </div>
    </>
  );
}

/** Question that has no form, such as a request for a message of a model: the answer is written as JSON. */
function OtherQuestion({ question, canAnswer }: QuestionProps): JSX.Element {
  const text = useSignal(
    question.method === "sampling/createMessage"
      ? JSON.stringify({ role: "assistant", model: "a person", content: { type: "text", text: "" } }, null, 2)
      : "{}",
  );
  const problem = useSignal<string | undefined>(undefined);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        try {
          void answer(question, JSON.parse(text.value) as JsonObject);
        } catch (error) {
          problem.value = `This is not JSON: ${(error as Error).message}`;
        }
      }}
    >
      <Json value={question.params} />
      <div class="field">
        <label for={`answer-${question.line}`}>
          <span class="field-name">Answer</span>
          <span class="muted">{`result of ${question.method}, JSON`}</span>
        </label>
        <textarea
          id={`answer-${question.line}`}
          class="code"
          rows={6}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
        {problem.value !== undefined && <p class="problem">{problem.value}</p>}
      </div>
      <div class="form-actions">
        <button type="submit" class="primary" disabled={!canAnswer}>
          Answer
        </button>
        <button
          type="button"
          disabled={!canAnswer}
          onClick={() => void send("answer", { c: question.c, n: question.n, error: "The user refused." })}
        >
          Refuse
        </button>
      </div>
    </form>
  );
}
