import { type StepBudget, spend } from "./limits.js";

/** A double preserves every decimal number of up to 15 significant digits. */
const EXACT = 1e15;
/** Cost in steps of arithmetic with big integers. */
const BIG_STEPS = 40;

/**
 * Returns a predicate for multiples of a number. Numbers are taken as their shortest decimal representations, so that
 * 4.35 is a multiple of 0.01.
 */
export function multiplesOf(factor: number): (value: number, budget: StepBudget) => boolean {
  if (!Number.isFinite(factor)) return () => false;
  const [unit, shift] = toDecimal(factor);
  const scale = shift < 0 && shift >= -15 ? Number(`1e${-shift}`) : 1;
  const scaled = shift < 0 ? Number(unit) : factor;
  const isSmall = shift >= -15 && scaled < EXACT;
  return (value, budget) => {
    const count = Math.round(value * scale);
    // Below this bound, the quotient equals the value exactly if the value has no more decimals than the factor.
    if (isSmall && Math.abs(count) < EXACT) return count / scale === value && count % scaled === 0;
    if (!Number.isFinite(value)) return false;
    spend(budget, BIG_STEPS);
    const [digits, exponent] = toDecimal(value);
    const common = Math.min(exponent, shift);
    return (digits * 10n ** BigInt(exponent - common)) % (unit * 10n ** BigInt(shift - common)) === 0n;
  };
}

/** Returns the digits of a decimal and their exponent of ten. */
function toDecimal(value: number): [digits: bigint, exponent: number] {
  const [digits, exponent] = value.toExponential().split("e") as [string, string];
  const [whole, fraction = ""] = digits.split(".") as [string, string?];
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}
