/** As much of the package as the tests use; it brings no types. */
declare module "oidc-provider" {
  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): import("node:http").RequestListener;
    readonly AccessToken: { find(token: string): Promise<{ readonly scope?: string } | undefined> };
  }
}
