import { DefinitionError } from "./errors.js";

/**
 * Does the work of a public function or class. If that throws a `DefinitionError`, its stack begins with the caller, whose
 * line the runtime then shows.
 */
export function atCaller<T>(called: object, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof DefinitionError) Error.captureStackTrace?.(error, called as () => void);
    throw error;
  }
}

/** Lets the errors of methods of a class begin with their caller, as {@link atCaller} does. */
export function pointAtCallers<C extends object>(prototype: C, ...names: readonly (keyof C & string)[]): void {
  const methods = prototype as { [name: string]: (this: unknown, ...given: unknown[]) => unknown };
  for (const name of names) {
    const own = methods[name]!;
    methods[name] = function method(...given) {
      return atCaller(method, () => own.apply(this, given));
    };
  }
}
