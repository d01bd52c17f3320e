/** Wraps a call. It may inspect or change the call, answer it itself, and inspect or change the outcome. */
export type Interceptor<Call, Outcome> = (call: Call, next: (call: Call) => Promise<Outcome>) => Promise<Outcome>;

/** Composes interceptors around the innermost function. The first interceptor is the outermost. */
export function composeInterceptors<Call, Outcome>(
  interceptors: readonly Interceptor<Call, Outcome>[],
  innermost: (call: Call) => Promise<Outcome>,
): (call: Call) => Promise<Outcome> {
  return interceptors.reduceRight<(call: Call) => Promise<Outcome>>(
    (next, interceptor) => (call) => interceptor(call, next),
    innermost,
  );
}
