/** A value that differs from an example in one place. */
export interface Mutant {
  /** What was done and where: `drop /params/name`. */
  readonly change: string;
  readonly value: unknown;
}

const replacements: readonly unknown[] = [null, true, 1.5, -7, "mutant", [], ["mutant"], [7], {}, { mutant: null }];

/** Every value made by dropping, replacing or adding one member, in a fixed order. */
export function* mutantsOf(value: unknown, path = ""): Generator<Mutant> {
  for (const replacement of replacements) {
    yield { change: `replace ${path} by ${JSON.stringify(replacement)}`, value: replacement };
  }
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    yield { change: `grow ${path}`, value: [...value, { mutant: true }] };
  } else {
    yield { change: `add ${path}`, value: { ...value, mutant: 1 } };
  }
  for (const [member, inner] of Object.entries(value)) {
    if (!Array.isArray(value)) yield { change: `drop ${path}/${member}`, value: without(value, member) };
    for (const mutant of mutantsOf(inner, `${path}/${member}`)) {
      yield { change: mutant.change, value: withMember(value, member, mutant.value) };
    }
  }
}

function without(value: object, member: string): object {
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== member));
}

function withMember(value: object, member: string, inner: unknown): unknown {
  if (!Array.isArray(value)) return { ...value, [member]: inner };
  return value.map((item, index) => (String(index) === member ? inner : item));
}
