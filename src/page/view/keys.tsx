import type { JSX } from "preact";

/** Keys, and what each of them does. */
export type KeyTable = readonly (readonly [keys: string, what: string])[];

export function Keys({ of }: { readonly of: KeyTable }): JSX.Element {
  return (
    <dl class="keys">
      {of.map(([keys, what]) => (
        <div key={keys}>
          <dt>
            <kbd>{keys}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
