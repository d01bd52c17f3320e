import { options } from "preact";
import { visible } from "../model/visible.js";

/** Attributes that are shown or read to the user. Values of fields stay as they are: they are sent. */
const SHOWN = ["title", "aria-label", "placeholder"] as const;

/** Makes hidden characters visible in all texts of the page, wherever they come from. */
export function showHiddenCharacters(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    if (typeof vnode.type === "string") reveal(vnode.props as Shown);
    before?.(vnode);
  };
}

type Shown = { children?: unknown } & { [Name in (typeof SHOWN)[number]]?: unknown };

function reveal(props: Shown): void {
  const { children } = props;
  if (typeof children === "string") props.children = visible(children);
  else if (Array.isArray(children))
    props.children = children.map((child: unknown) => (typeof child === "string" ? visible(child) : child));
  for (const name of SHOWN) {
    const text = props[name];
    if (typeof text === "string") props[name] = visible(text);
  }
}
