import type { JSX, TargetedKeyboardEvent } from "preact";

interface TabsProps<T extends string> {
  readonly label: string;
  readonly names: readonly (readonly [T, string])[];
  readonly chosen: T;
  readonly onChoose: (name: T) => void;
  readonly controls: string;
}

/** Row of tabs. Arrow keys choose. */
export function Tabs<T extends string>({ label, names, chosen, onChoose, controls }: TabsProps<T>): JSX.Element {
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const steps: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const at = names.findIndex(([name]) => name === chosen);
    const next = names[(at + step + names.length) % names.length];
    if (next === undefined) return;
    onChoose(next[0]);
    (event.currentTarget.children[names.indexOf(next)] as HTMLElement).focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} tabIndex={-1} onKeyDown={onKeyDown}>
      {names.map(([name, title]) => (
        <button
          type="button"
          key={name}
          role="tab"
          id={`tab-${name}`}
          aria-selected={name === chosen}
          aria-controls={controls}
          tabIndex={name === chosen ? 0 : -1}
          onClick={() => onChoose(name)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
