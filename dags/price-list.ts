/**
 * A price list that others have a say in: the supplier needs a while to make it, the owner is asked for a word, and the printer
 * takes its time. Nothing of this holds a slot while it waits.
 */
import { dag, defer } from "meridian";
import { z } from "zod";
import { madeUp } from "./shared/made-up.ts";

const GOODS = ["Brot", "Brezel", "Kuchen", "Torte"];

interface Price {
  good: string;
  cents: number;
}

/** Who may end the wait for the owner, and with what. */
const word = z.object({
  by: z.string().meta({ title: "By", description: "Who says so" }),
  percent: z.int().min(-50).max(50).optional().meta({ title: "Percent", description: "Added to all prices" }),
});

export const priceList = dag(
  "price_list",
  {
    schedule: "0 18 * * *",
    zone: "Europe/Berlin",
    startDate: "2026-01-01",
    description: "Waits for a supplier, for the owner's word and for a printer, without a slot",
    owner: "shop",
    tags: ["example", "waits"],
  },
  ({ task, sensor, waitFor, waitUntil }) => {
    // The supplier closes its day a few seconds after ours.
    const closed = waitUntil("day_closed", { label: "Day is closed", delay: "5s" });

    // Stands for a request to the supplier's server, which needs some seconds for its answer.
    const order = task("order_list", { after: [closed] }, ({ ds }) => ({
      order: `list-${ds}`,
      readyAt: Date.now() + 5_000,
    }));

    // Asked each two seconds; what it answers at last is its output, an array of prices for whoever reads it.
    const list = sensor(
      "list",
      {
        label: "Supplier's list",
        inputs: { order },
        every: "2s",
        timeout: "10m",
        retries: 2,
        retryDelay: "2s",
      },
      ({ inputs, ds }): Price[] | undefined => {
        if (Date.now() < inputs.order.readyAt) return undefined;
        const next = madeUp(`prices of ${ds}`);
        return GOODS.map((good) => ({ good, cents: 100 + Math.floor(next() * 900) }));
      },
    );

    const ask = task("ask_owner", { inputs: { list } }, ({ inputs, log, waitUrl }) => {
      // Goes into a mail, or a message to a chat.
      log.info(`${inputs.list.length} prices are to be approved: ${waitUrl("approval")}`);
    });

    // After a minute without a word it is skipped, and with it what needs it.
    const approval = waitFor("approval", {
      label: "Owner's word",
      payload: word,
      after: [ask],
      timeout: "1m",
      softFail: true,
    });

    const prices = task("prices", { inputs: { list, approval } }, ({ inputs, log }) => {
      const { by, percent = 0 } = inputs.approval;
      log.info(`${by} adds ${percent} %`);
      return inputs.list.map(({ good, cents }) => ({ good, cents: Math.round(cents * (1 + percent / 100)) }));
    });

    // The body hands its job over and ends; when the time is up it is called again, in the same try, and knows the job.
    task("print", { inputs: { prices }, executionTimeout: "1m" }, ({ inputs, ds, resumed }) => {
      if (resumed === undefined) defer({ for: "3s" }, { state: { job: `${ds}-${inputs.prices.length}` } });
      const { job } = resumed.state as { job: string };
      return `printed as job ${job}`;
    });

    task(
      "keep_old",
      { label: "Keep the old prices", after: [approval], triggerRule: "all_skipped" },
      () => "kept",
    );
  },
);
