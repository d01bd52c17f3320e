import { DefinitionError } from "./errors.js";

/** Public function, method or class by its name: `{ retry }`. Bundlers shorten the name that a function has itself. */
export type Called = { readonly [name: string]: object };

/**
 * Does the work of a public function, method or class. If that throws a `DefinitionError`, its stack begins with the
 * caller, whose line the runtime then shows. An asynchronous function must await the result, to be in the stack itself.
 */
export function atCaller<T>(called: object, work: () => T): T {
  const fail = (error: unknown) => {
    if (error instanceof DefinitionError) beginAtCaller(error, called as () => void);
    throw error;
  };
  try {
    const result = work();
    return result instanceof Promise ? (result.catch(fail) as T) : result;
  } catch (error) {
    return fail(error);
  }
}

/** Keeps a stack in which the called function is not, such as that of a promise that nobody awaits. */
function beginAtCaller(error: Error, called: () => void): void {
  const probe: { readonly stack?: string } = {};
  Error.captureStackTrace?.(probe, called);
  if (probe.stack?.includes("\n")) Error.captureStackTrace(error, called);
}

/** Lets the errors of methods begin with their caller, as {@link atCaller} does. */
export function pointAtCallers<C extends object>(object: C, ...names: readonly (keyof C & string)[]): C {
  const methods = object as { [name: string]: (this: unknown, ...given: unknown[]) => unknown };
  for (const name of names) {
    const own = methods[name]!;
    methods[name] = function method(...given) {
      return atCaller(method, () => own.apply(this, given));
    };
  }
  return object;
}
