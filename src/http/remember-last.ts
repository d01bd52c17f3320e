/** For what is read from a header that clients send the same over and over: the last answer is kept. */
export function rememberLast<H extends string | undefined, T>(read: (header: H) => T): (header: H) => T {
  let last: { readonly header: H; readonly value: T } | undefined;
  return (header) => {
    if (last === undefined || last.header !== header) last = { header, value: read(header) };
    return last.value;
  };
}
