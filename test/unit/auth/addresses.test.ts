import { equal } from "node:assert/strict";
import { test } from "node:test";
import { addressProblem, isLoopback, isPrivate } from "#src/auth/addresses.js";

/** The first and the last address of each range, and its neighbours outside. */
const RANGES: readonly [inside: readonly string[], outside: readonly string[]][] = [
  [["0.0.0.0", "0.255.255.255"], ["1.0.0.0"]],
  [
    ["10.0.0.0", "10.255.255.255"],
    ["9.255.255.255", "11.0.0.0"],
  ],
  [
    ["100.64.0.0", "100.127.255.255"],
    ["100.63.255.255", "100.128.0.0", "101.64.0.0"],
  ],
  [
    ["127.0.0.0", "127.255.255.255"],
    ["126.255.255.255", "128.0.0.0"],
  ],
  [
    ["169.254.0.0", "169.254.255.255"],
    ["169.253.0.0", "169.255.0.0", "168.254.0.0"],
  ],
  [
    ["172.16.0.0", "172.31.255.255"],
    ["172.15.255.255", "172.32.0.0", "173.16.0.0"],
  ],
  [
    ["192.168.0.0", "192.168.255.255", "192.0.0.1", "192.0.2.1"],
    ["192.167.0.0", "192.169.0.0", "192.0.1.1", "192.0.3.1", "192.1.0.1", "191.168.0.0"],
  ],
  [
    ["198.18.0.0", "198.19.255.255", "198.51.100.1"],
    ["198.17.0.0", "198.20.0.0", "198.51.99.1", "198.51.101.1", "198.52.100.1"],
  ],
  [["203.0.113.1"], ["203.0.112.1", "203.0.114.1", "203.1.113.1"]],
  [["224.0.0.0", "255.255.255.255"], ["223.255.255.255"]],
];

test("each range of private IPv4 addresses has its exact bounds, also inside of IPv6 addresses", () => {
  const hex = (address: string) => {
    const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  };
  for (const [inside, outside] of RANGES) {
    for (const [addresses, expected] of [
      [inside, true],
      [outside, false],
    ] as const) {
      for (const address of addresses) {
        equal(isPrivate(address), expected, address);
        for (const wrapped of [`[::ffff:${address}]`, `[::ffff:${hex(address)}]`, `[64:ff9b::${hex(address)}]`]) {
          equal(isPrivate(wrapped), expected, wrapped);
        }
        equal(isPrivate(`[2002:${hex(address)}::1]`), expected, `6to4 ${address}`);
      }
    }
  }
});

test("of IPv6 addresses only those that are given out are public", () => {
  for (const address of [
    "[::]",
    "[::1]",
    "[fc00::1]",
    "[fe80::1%25eth0]",
    "[ff02::1]",
    "[1fff::1]",
    "[4000::]",
    "[64:ff9b:1::808:808]",
  ]) {
    equal(isPrivate(address), true, address);
  }
  for (const address of ["[2000::]", "[3fff::1]", "[2606:4700::1111]", "[2001:db8:0:0:0:0:0:1]"]) {
    equal(isPrivate(address), false, address);
  }
});

test("a name is private by its last label, and this machine's own is loopback too", () => {
  for (const name of [
    "localhost",
    "LOCALHOST.",
    "a.localhost",
    "[::1]",
    "127.0.0.1",
    "127.9.9.9",
    "[::ffff:127.0.0.1]",
  ]) {
    equal(isLoopback(name), true, name);
    equal(isPrivate(name), true, name);
  }
  for (const name of ["printer.local", "db.internal", "router.home.arpa", "10.0.0.1", "[2002:7f00:1::]"]) {
    equal(isLoopback(name), false, name);
    equal(isPrivate(name), true, name);
  }
  for (const name of ["local", "internal.example", "localhost.example", "notlocalhost", "256.1.1.1", "1.2.3"]) {
    equal(isPrivate(name), false, name);
  }
});

test("an address is asked only over HTTP, without credentials, and where the policy lets it", async () => {
  const strict = { allowInsecure: false, allowPrivate: false };
  const problem = (url: string, policy: object = {}) => addressProblem(new URL(url), { ...strict, ...policy });
  equal(await problem("https://example.com/"), undefined);
  equal(await problem("ftp://example.com/"), "ftp: is not HTTP");
  equal(await problem("http://example.com/"), "it is not https");
  equal(await problem("http://example.com/", { allowInsecure: true }), undefined);
  equal(await problem("https://user@example.com/"), "it contains credentials");
  equal(await problem("https://:word@example.com/"), "it contains credentials");
  equal(await problem("https://10.0.0.1/"), "it is a private address");
  equal(await problem("https://10.0.0.1/", { allowPrivate: true }), undefined);
  equal(await problem("https://10.0.0.1/", { named: ["https://10.0.0.1"] }), undefined);
  equal(await problem("https://10.0.0.1/", { allowLoopback: true }), "it is a private address");
  equal(await problem("http://127.0.0.1/", { allowLoopback: true }), undefined);
  equal(await problem("http://127.0.0.1/"), "it is a private address");
  const resolve = async (name: string) => (name === "inside.example" ? ["8.8.8.8", "10.0.0.1"] : ["8.8.8.8"]);
  equal(await problem("https://outside.example/", { resolve }), undefined);
  equal(await problem("https://inside.example/", { resolve }), "its host name resolves to a private address");
  equal(await problem("https://inside.example/", { resolve, allowPrivate: true }), undefined);
});
