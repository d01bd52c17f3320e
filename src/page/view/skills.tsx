import type { JSX } from "preact";
import { can, connectionOf, ends, send } from "../link.js";
import type { SkillEntry } from "../model/skills.js";
import { sizeText } from "../model/text.js";
import { shown, skills } from "../state.js";
import { Icon } from "./icon.js";

/** Skills of the server: their files, and which of them were verified. */
export function SkillsPanel(): JSX.Element {
  const connection = connectionOf(undefined);
  const isLive = connection !== undefined && shown.value === 0;
  return (
    <div class="panel-body">
      {isLive && can("list") && (
        <div class="panel-head">
          <button type="button" onClick={() => void send("list", { connection, what: "skills", fresh: true })}>
            <Icon name="repeat" /> List skills
          </button>
        </div>
      )}
      <section class="scroll" tabIndex={0} aria-label="Skills of the server">
        {skills.value.length === 0 && <p class="hint">The server has listed no skills in this run.</p>}
        {skills.value.map((skill) => (
          <Skill key={skill.uri} skill={skill} connection={isLive && can("read") ? connection : undefined} />
        ))}
      </section>
    </div>
  );
}

interface SkillProps {
  readonly skill: SkillEntry;
  /** Connection by which its files can be read. */
  readonly connection: number | undefined;
}

function Skill({ skill, connection }: SkillProps): JSX.Element {
  const { uri, name, description, files } = skill;
  return (
    <article class="card">
      <p>
        <strong>{name}</strong>
      </p>
      {description !== undefined && <p>{description}</p>}
      <p class="muted">
        <code>{uri}</code>
      </p>
      {files === undefined && <p class="muted">Its content is generated, and has no digests.</p>}
      <ul class="files">
        {(files ?? []).map((file) => (
          <li key={file.uri}>
            <span class="row-name" title={file.digest}>
              {file.path}
            </span>
            <span class="row-note">{sizeText(file.size)}</span>
            <Verified uri={file.uri} />
            {connection !== undefined && (
              <button
                type="button"
                class="quiet"
                aria-label={`Read and verify ${file.path}`}
                onClick={() => void send("read", { connection, uri: file.uri, skill: uri })}
              >
                verify
              </button>
            )}
          </li>
        ))}
      </ul>
    </article>
  );
}

/** Outcome of the last time that a file was read and verified. */
function Verified({ uri }: { readonly uri: string }): JSX.Element | null {
  const end = [...ends.value.values()].findLast((each) => each.verb === "read" && each.name === uri);
  if (end === undefined) return null;
  const isGood = end.error === undefined;
  return (
    <span class={`badge short state-${isGood ? "ok" : "error"}`} title={end.error?.message ?? "the digest is right"}>
      <Icon name={isGood ? "ok" : "error"} />
      <span class="hidden">{isGood ? "verified" : "not verified"}</span>
    </span>
  );
}
