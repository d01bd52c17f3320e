/** Whoever sits at the browser. `id` becomes the subject of the tokens. */
export interface IssuerUser {
  readonly id: string;
  /** Shown on the consent page. */
  readonly name?: string;
}
