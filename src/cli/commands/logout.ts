import type { CommandContext } from "../context.js";
import { describeFailure, UsageError } from "../failures.js";
import { loginSecret, removeSecret } from "../login/key.js";
import { type Login, LoginStore, removeLogins } from "../login/login-store.js";
import { openAuth } from "../login/open-auth.js";
import { hasLogin, serverFiles } from "../login/place.js";
import { findServer, toldUrl } from "../target.js";
import { visibleLine } from "../text.js";
import { assertLoginOptions, serversOf } from "./login.js";

/** Revokes and deletes the tokens of a server, or of all. Tokens that cannot be revoked are deleted nevertheless. */
export async function logout(context: CommandContext): Promise<void> {
  const { line, values, io, screen } = context;
  assertLoginOptions(context, ["memory"]);
  if (values.all === true) {
    if (line.server !== undefined) throw new UsageError("--all is without a server");
    return logoutAll(context);
  }
  if (line.server === undefined && line.program === undefined)
    throw new UsageError("bowline logout needs a server at a URL, or --all");
  const servers = serversOf(await findServer(line, io));
  const isKnown = (await Promise.all(servers.map((server) => hasLogin(server, io)))).includes(true);
  if (!isKnown) return context.finish({ ended: [] }, () => screen.line("no login"));
  const store = new LoginStore(io, await loginSecret(io, screen));
  const found = (await Promise.all(servers.map((server) => store.login(server)))).filter((one) => one !== undefined);
  for (const login of found) await end(login, store, context);
  context.finish({ ended: found.map(({ server }) => toldUrl(server)) }, () => {
    for (const { server } of found) screen.line(`${visibleLine(toldUrl(server))}: logged out`);
    if (found.length === 0) screen.line("no login");
  });
}

async function end({ server }: Login, store: LoginStore, context: CommandContext): Promise<void> {
  const { screen, io } = context;
  const mode = { isInteractive: false, inMemory: false, noBrowser: false, options: {} };
  const auth = await openAuth(server, mode, context);
  try {
    await auth.oauth.logout(server, { signal: io.signal });
  } catch (error) {
    io.signal.throwIfAborted();
    const { failure } = describeFailure(error);
    screen.note(
      screen.tint(
        "yellow",
        `${visibleLine(toldUrl(server))}: the tokens are deleted, and were not revoked: ${failure.message}`,
      ),
    );
  }
  await store.forget(server);
}

/** Ends all logins, and removes their key. Files that cannot be read are deleted too. */
async function logoutAll(context: CommandContext): Promise<void> {
  const { io, screen } = context;
  let logins: readonly Login[] = [];
  try {
    if ((await serverFiles(io)).length > 0) {
      const store = new LoginStore(io, await loginSecret(io, screen));
      logins = await store.logins();
      for (const login of logins) await end(login, store, context);
    }
  } catch (error) {
    io.signal.throwIfAborted();
    screen.note(
      screen.tint(
        "yellow",
        `The tokens cannot be read, and were not revoked: ${describeFailure(error).failure.message}`,
      ),
    );
  }
  await removeLogins(io);
  await removeSecret(io);
  context.finish({ ended: logins.map(({ server }) => toldUrl(server)) }, () => {
    const count = logins.length === 1 ? "1 login" : `${logins.length} logins`;
    screen.line(`${count} ended; nothing is stored any more`);
  });
}
