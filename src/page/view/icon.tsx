import type { JSX } from "preact";

const PATHS = {
  ok: "M3 8.5 6.5 12 13 4.5",
  error: "M4 4l8 8M12 4l-8 8",
  cancelled: "M4 12 12 4M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8",
  lost: "M2 8h3.5M10.5 8H14M6.5 4.5l1 2M9.5 11.5l-1-2",
  open: "M8 2a6 6 0 1 0 6 6",
  asked: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.9-1.1 1.8M8 13v.2",
  up: "M2.5 8h11M9.5 4l4 4-4 4",
  down: "M13.5 8h-11M6.5 4l-4 4 4 4",
  note: "M8 7.3v4M8 4.7v.1M8 1.6a6.4 6.4 0 1 0 0 12.8A6.4 6.4 0 0 0 8 1.6",
  warning: "M8 2.2 14.4 13.5H1.6ZM8 6.5v3.2M8 11.6v.2",
  copy: "M5.5 5.5V2.5h8v8h-3M2.5 5.5h8v8h-8Z",
  save: "M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11",
  openFile: "M2 4.5V13h12V5.5H8L6.5 3.5H2Z",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8 13 13M3 13l1.2-1.2M11.8 4.2 13 3",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z",
  help: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.9-1.1 1.8M8 13v.2",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2 5V2h3M11 2h3v3M14 11v3h-3M5 14H2v-3",
  play: "M4.5 2.8v10.4L13 8Z",
  repeat: "M13 8a5 5 0 1 1-1.5-3.5M12 1.5v3.2H8.8",
} as const;

export type IconName = keyof typeof PATHS;

/** Picture of sixteen pixels. It repeats what a word beside it says. */
export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
