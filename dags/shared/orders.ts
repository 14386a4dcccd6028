/** The orders of a made-up shop. `sales-daily.ts` and `sales-export.ts` read them: this file is part of both. */
import { madeUp } from "./made-up.ts";

export const REGIONS = ["eu", "us", "asia"] as const;
export const PRODUCTS = ["tea", "coffee", "cocoa", "mate"] as const;

export type Region = (typeof REGIONS)[number];
type Product = (typeof PRODUCTS)[number];

export interface Order {
  id: string;
  day: string;
  region: Region;
  product: Product;
  pieces: number;
  /** Of the whole order. A free sample costs nothing. */
  cents: number;
}

/** All orders of a calendar day, such as "2026-05-09". */
export function ordersOf(day: string): Order[] {
  const next = madeUp(`orders of ${day}`);
  const oneOf = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  return Array.from({ length: 200 + Math.floor(next() * 200) }, (_, n) => {
    const pieces = 1 + Math.floor(next() * 5);
    const isSample = next() < 0.02;
    return {
      id: `${day}-${n + 1}`,
      day,
      region: oneOf(REGIONS),
      product: oneOf(PRODUCTS),
      pieces,
      cents: isSample ? 0 : pieces * (450 + Math.floor(next() * 1_200)),
    };
  });
}

export const euros = (cents: number): string => `${(cents / 100).toFixed(2)} €`;
