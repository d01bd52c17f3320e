import { deepEqual, equal, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { LoginWorld } from "../../support/login-world.js";

/** Starts the Secret Service of a desktop, with a keyring that is open. Returns the address of its session bus. */
async function openKeyring(t: TestContext, home: string): Promise<string> {
  const env = { ...process.env, HOME: home };
  const end = (child: ReturnType<typeof spawn>) =>
    t.after(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill();
      await once(child, "exit");
    });
  const bus = spawn("dbus-daemon", ["--session", "--nofork", "--print-address"], {
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  end(bus);
  const [address] = (await once(createInterface({ input: bus.stdout }), "line")) as [string];
  const withBus = { ...env, DBUS_SESSION_BUS_ADDRESS: address };
  const options = ["--unlock", "--components=secrets", "--foreground"];
  const keyring = spawn("gnome-keyring-daemon", options, { env: withBus, stdio: ["pipe", "pipe", "ignore"] });
  end(keyring);
  keyring.stdin.end("password of the keyring");
  await once(createInterface({ input: keyring.stdout }), "line");
  return address;
}

test("a login by Chromium is kept by the keyring of the desktop, and renewed once by later processes", async (t) => {
  const world = await LoginWorld.open(t, undefined);
  world.install("secret-tool", "watched secret-tool");
  world.install("xdg-open", "chromium");
  world.env.DBUS_SESSION_BUS_ADDRESS = await openKeyring(t, world.home);
  world.env.HOME = world.home;

  const login = await world.spawn(["login", world.server]);
  equal(login.code, 0, login.stderr);
  ok(login.stdout.includes("logged in at"), login.stdout);
  deepEqual(
    world
      .files()
      .map(({ path }) => path.split("/").at(-2))
      .sort(),
    ["issuers", "servers"],
    "no key is in a file",
  );

  const ran = await world.renew(3);
  deepEqual(
    ran.map(({ code, stdout, stderr }) => [code, stdout, stderr]),
    Array.from(ran, () => [0, "echo\n", ""]),
  );
  deepEqual([world.provider.count("GET", "/auth"), world.provider.count("POST", "/token")], [1, 2]);

  const stored = world.noted("secret-tool", "secret").trim();
  equal(Buffer.from(stored, "base64url").length, 32, "the keyring has a key of 32 bytes");
  const seen = [
    login.stdout,
    login.stderr,
    world.noted("secret-tool", "args"),
    ...world.files().map(({ bytes }) => bytes.toString("latin1")),
  ];
  for (const secret of [stored, ...world.provider.seen])
    for (const text of seen) ok(!text.includes(secret), "a secret is in an output, a file or the list of processes");
  ok(world.noted("secret-tool", "args").includes("gnome-keyring-daemon"), "the list of processes was looked at");
});
