/** Wraps a call: may look at it, change it, answer it itself, or look at what came back. */
export type Interceptor<Call, Outcome> = (call: Call, next: (call: Call) => Promise<Outcome>) => Promise<Outcome>;

/** Folds interceptors around the innermost function once; the first given is the outermost. */
export function composeInterceptors<Call, Outcome>(
  interceptors: readonly Interceptor<Call, Outcome>[],
  innermost: (call: Call) => Promise<Outcome>,
): (call: Call) => Promise<Outcome> {
  return interceptors.reduceRight<(call: Call) => Promise<Outcome>>(
    (next, interceptor) => (call) => interceptor(call, next),
    innermost,
  );
}
