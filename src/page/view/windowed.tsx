import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX, TargetedKeyboardEvent } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface WindowedProps<T> {
  readonly label: string;
  readonly items: readonly T[];
  readonly rowHeight: number;
  readonly keyOf: (item: T) => string | number;
  readonly isPicked: (item: T) => boolean;
  readonly onPick: (item: T) => void;
  readonly onOpen?: (item: T) => void;
  readonly children: (item: T) => ComponentChildren;
}

/** Rows above and below the visible ones that are drawn as well. */
const MARGIN = 6;
/** Room above the first row, and below a row that is scrolled into view, in pixels. */
const EDGE = 4;

/** List of which only the visible rows are drawn. Arrow keys pick, Enter opens. */
export function Windowed<T>(props: WindowedProps<T>): JSX.Element {
  const { label, items, rowHeight, keyOf, isPicked, onPick, onOpen, children } = props;
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(400);
  useEffect(() => {
    const element = box.current as HTMLDivElement;
    const observer = new ResizeObserver(() => (height.value = element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const at = items.findIndex(isPicked);
  const picked = items[at];
  const pickedKey = picked === undefined ? undefined : keyOf(picked);
  useEffect(() => {
    const element = box.current as HTMLDivElement;
    if (at === -1) return;
    if (at * rowHeight < element.scrollTop) element.scrollTop = at * rowHeight;
    else if ((at + 1) * rowHeight + EDGE > element.scrollTop + element.clientHeight)
      element.scrollTop = (at + 1) * rowHeight + EDGE - element.clientHeight;
    // New rows do not move a list that the user has scrolled.
  }, [pickedKey]);
  const first = Math.max(0, Math.floor(top.value / rowHeight) - MARGIN);
  const last = Math.min(items.length, Math.ceil((top.value + height.value) / rowHeight) + MARGIN);
  const page = Math.max(1, Math.floor(height.value / rowHeight) - 1);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -items.length,
      End: items.length,
    };
    const step = steps[event.key];
    const current = items[at];
    if (event.key === "Enter" && current !== undefined) onOpen?.(current);
    if (step === undefined || items.length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    // Without a picked row, the first step leads to the first or the last one.
    const target = at === -1 ? (event.key === "End" ? step : 0) : at + step;
    const next = items[Math.min(items.length - 1, Math.max(0, target))];
    if (next !== undefined) onPick(next);
  };
  const id = (item: T) => `${label}-${keyOf(item)}`.replaceAll(/[^\w-]/g, "_");
  const active = items[at];
  return (
    <div
      class="windowed"
      role="listbox"
      aria-label={label}
      tabIndex={0}
      ref={box}
      aria-activedescendant={active === undefined || at < first || at >= last ? undefined : id(active)}
      onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div class="windowed-all" style={{ height: `${items.length * rowHeight}px` }} role="presentation">
        {items.slice(first, last).map((item, index) => (
          <div
            key={keyOf(item)}
            id={id(item)}
            class="row"
            role="option"
            aria-selected={isPicked(item)}
            aria-setsize={items.length}
            aria-posinset={first + index + 1}
            style={{ top: `${(first + index) * rowHeight}px`, height: `${rowHeight}px` }}
            onClick={() => onPick(item)}
          >
            {children(item)}
          </div>
        ))}
      </div>
    </div>
  );
}
