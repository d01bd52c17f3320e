/** What people call something that a server lists: its title, for tools also the one in its annotations, else its name. */
export function displayName(item: {
  readonly name: string;
  readonly title?: string | undefined;
  readonly annotations?: object | undefined;
}): string {
  const { title } = (item.annotations ?? {}) as { readonly title?: unknown };
  return item.title || (typeof title === "string" && title) || item.name;
}
