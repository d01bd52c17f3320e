/** An object without those of its members that are undefined. */
export function defined<T extends object>(members: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}
