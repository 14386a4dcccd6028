/** Rates from two sources that often fail: retries with a growing delay, a time-out, and whichever answers is taken. */
import { setTimeout as pause } from "node:timers/promises";
import { dag, fail, task } from "meridian";
import { madeUp } from "./shared/made-up.ts";

interface Rates {
  usd: number;
  jpy: number;
}

export const exchangeRates = dag(
  "exchange_rates",
  {
    schedule: "0 8-18/2 * * 1-5",
    zone: "Europe/Berlin",
    startDate: "2026-01-01",
    description: "Rates of the euro from two unreliable sources",
    owner: "finance",
    tags: ["example", "retries"],
    // Waits of 1, 2, 4 and 8 seconds; a source that stays away longer is left out this time.
    defaults: { retries: 4, retryDelay: "1s", retryFactor: 2, maxRetryDelay: "30s" },
  },
  () => {
    const bank = task("bank", { label: "The bank" }, ({ logicalDate, tryNumber, maxTries, log }) => {
      const { status, rates } = askBank(logicalDate, tryNumber);
      if (status === 403) fail("the bank does not know us any more: no retry can help");
      if (status !== 200) {
        log.error(`try ${tryNumber} of ${maxTries}: the bank answers ${status}`);
        throw new Error(`the bank answers ${status}`);
      }
      return rates;
    });

    const market = task(
      "market",
      { label: "The market", executionTimeout: "3s" },
      // The signal ends what the try waits for. Pass it to fetch(), to a query, to a child process.
      async ({ logicalDate, tryNumber, signal }) => await askMarket(logicalDate, tryNumber, signal),
    );

    // All have ended and one succeeded; so each input may be missing, and its type says so.
    const rates = task(
      "rates",
      { label: "Mean of what came", inputs: { bank, market }, triggerRule: "all_done_min_one_success" },
      ({ inputs, log }) => {
        if (inputs.bank === undefined) log.warn("without the bank");
        if (inputs.market === undefined) log.warn("without the market");
        const came = [inputs.bank, inputs.market].filter((one) => one !== undefined);
        const mean = (of: (rates: Rates) => number) =>
          came.reduce((sum, one) => sum + of(one), 0) / came.length;
        return { usd: mean(({ usd }) => usd), jpy: mean(({ jpy }) => jpy), sources: came.length };
      },
    );

    task("publish", { label: "Publish", inputs: { rates } }, ({ inputs, log }) => {
      log.info(`1 € is ${inputs.rates.usd.toFixed(4)} $ or ${inputs.rates.jpy.toFixed(2)} ¥`);
    });
  },
);

/** Stands for a `fetch()`: busy for the first two tries. */
function askBank(at: Date, tryNumber: number): { status: number; rates: Rates } {
  return { status: tryNumber < 3 ? 503 : 200, rates: ratesAt(at, "bank") };
}

/** Stands for a `fetch()` that never ends, the first time. */
async function askMarket(at: Date, tryNumber: number, signal: AbortSignal): Promise<Rates> {
  await pause(tryNumber === 1 ? 3_600_000 : 200, undefined, { signal });
  return ratesAt(at, "market");
}

function ratesAt(at: Date, source: string): Rates {
  const next = madeUp(`${source} ${at.toISOString()}`);
  return { usd: 1.05 + next() / 10, jpy: 160 + next() * 10 };
}
