import { equal } from "node:assert/strict";
import { test } from "node:test";
import { networkOf } from "#src/node/http/network.js";

test("callers are told apart by an IPv4 address, or by the network of an IPv6 address", () => {
  for (const [address, network] of [
    ["8.8.4.4", "8.8.4.4"],
    ["::ffff:8.8.4.4", "8.8.4.4"],
    ["2a00:1450:4001:81b::200e", "2a00:1450:4001:81b"],
    ["2a00:1450:4001:81b:1:2:3:4", "2a00:1450:4001:81b"],
    ["2a00:1450::1", "2a00:1450:0:0"],
  ])
    equal(networkOf(address), network, address);
});

test("a private address tells nothing, since it may be that of a proxy", () => {
  for (const address of ["127.0.0.1", "::1", "10.1.2.3", "::ffff:192.168.0.1", "fd00::1", "fe80::1%eth0", undefined])
    equal(networkOf(address), undefined, address);
});
