/** The client did not declare a capability that its request needs. */
export const MISSING_CAPABILITY = -32021;
