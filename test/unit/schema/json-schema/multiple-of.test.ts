import { equal } from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultValidator } from "#src/schema/json-schema/validator.js";
import { Seeded } from "../../../support/seeded.js";

describe("multipleOf", () => {
  const MULTIPLES: readonly [value: number, factor: number, fits: boolean][] = [
    [9_007_199_254_740_991, 2, false],
    [9_007_199_254_740_990, 2, true],
    [9_007_199_254_740_991, 3, false],
    [9_007_199_254_740_990, 3, true],
    [9_007_199_254_740_989, 10, false],
    [-9_007_199_254_740_991, 6_361, true],
    [9_007_199_254_740_991, 9_007_199_254_740_990, false],
    [4_503_599_627_370_497, 2, false],
    [2_251_799_813_685_249.5, 1, false],
    [2_251_799_813_685_249.5, 0.5, true],
    [0.07, 0.01, true],
    [4.35, 0.01, true],
    [4.355, 0.01, false],
    [1.1, 0.1, true],
    [0.30000000000000004, 0.1, false],
    [19.99, 0.01, true],
    [1e15 + 0.3, 0.01, true],
    [45_035_996_273_704.97, 0.01, true],
    [45_035_996_273_704.97, 0.02, false],
    [1e308, 0.5, true],
    [1e308, 0.123456789, false],
    [1e23, 10, true],
    [1e-300, 1e-301, true],
    [1.5e-300, 1e-300, false],
    [5e-324, 5e-324, true],
    [0, 0.3, true],
    [-0, 7, true],
    [-4.5, 1.5, true],
    [3, 1.5, true],
    [7.5, 2, false],
    [Number.POSITIVE_INFINITY, 2, false],
    [4, Number.POSITIVE_INFINITY, false],
  ];
  for (const [value, factor, fits] of MULTIPLES) {
    it(`finds ${value} ${fits ? "" : "not "}to be a multiple of ${factor}`, () => {
      equal(defaultValidator.compile({ multipleOf: factor })(value).length === 0, fits);
    });
  }

  it("agrees with whole arithmetic on decimals at random", () => {
    const random = new Seeded(53);
    for (let n = 0; n < 5_000; n++) {
      const places = random.below(7);
      const factor = 1 + random.below(random.pick([9, 250, 4_000_000]));
      const count = random.below(4_000_000) * (1 + random.below(random.pick([1, 50_000])));
      const off = random.below(2);
      const [value, unit] = [Number(`${count * factor + off}e-${places}`), Number(`${factor}e-${places}`)];
      if (count * factor + off > 1e15) continue;
      const fits = (count * factor + off) % factor === 0;
      equal(defaultValidator.compile({ multipleOf: unit })(value).length === 0, fits, `${value} by ${unit}`);
    }
  });
});
