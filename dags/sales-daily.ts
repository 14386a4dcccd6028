/** The orders of a day, picked, checked and added up for each region: groups inside groups. */
import { dag, fail, task, taskGroup } from "meridian";
import { euros, ordersOf, REGIONS, type Region } from "./shared/orders.ts";

export const salesDaily = dag(
  "sales_daily",
  {
    schedule: "@daily",
    zone: "Europe/Berlin",
    startDate: "2026-01-01",
    description: "The orders of a day, checked and added up by region",
    owner: "shop",
    tags: ["example", "groups"],
    defaults: { retries: 1, retryDelay: "10s" },
    doc: [
      "Every night after midnight in Berlin, for the day that has just ended.",
      "",
      "- **Orders of the day** come from the shop.",
      "- **By region** checks them: an id that occurs twice fails the region, a free sample is only a warning.",
      "- **Report** has the sums; it does not run when a region failed.",
    ].join("\n"),
  },
  () => {
    const orders = task("orders", { label: "Orders of the day" }, ({ ds, log }) => {
      const all = ordersOf(ds);
      log.info(`${all.length} orders on ${ds}`);
      return all;
    });

    const regions = taskGroup("regions", { label: "By region" }, () =>
      REGIONS.map((region) => taskGroup(region, { label: region.toUpperCase() }, () => totalOf(region))),
    );

    // As many inputs as there are regions: each is one region's total, and has its type.
    const totals = regions.returned.map((region) => region.returned);
    const inputs = Object.fromEntries(REGIONS.map((region, i) => [region, totals[i]!]));
    task("report", { label: "Report", inputs }, ({ inputs, ds, log }) => {
      const lines = Object.values(inputs).sort((a, b) => b.cents - a.cents);
      for (const { region, cents, orders } of lines) log.info(`${region}: ${euros(cents)}, ${orders} orders`);
      return { day: ds, cents: lines.reduce((sum, { cents }) => sum + cents, 0), best: lines[0]!.region };
    });

    /** The tasks of one region. Called inside its group, so their ids begin with `regions.eu.` */
    function totalOf(region: Region) {
      const mine = task("orders", { inputs: { orders } }, ({ inputs }) =>
        inputs.orders.filter((order) => order.region === region),
      );

      const checks = taskGroup("checks", { label: "Checks" }, () => {
        task("ids", { inputs: { mine }, doc: "No order may occur twice." }, ({ inputs }) => {
          const ids = new Set(inputs.mine.map(({ id }) => id));
          if (ids.size < inputs.mine.length) fail("an order occurs twice: no retry can mend that");
          return ids.size;
        });
        task("prices", { inputs: { mine }, doc: "Free samples are reported." }, ({ inputs, log }) => {
          const free = inputs.mine.filter(({ cents }) => cents === 0);
          for (const { id, product } of free) log.debug(`${id} is a sample of ${product}`);
          if (free.length > 0) log.warn(`${free.length} of ${inputs.mine.length} orders are free samples`);
          return free.length;
        });
      });

      return task("total", { inputs: { mine }, after: [checks] }, ({ inputs }) => ({
        region,
        orders: inputs.mine.length,
        cents: inputs.mine.reduce((sum, { cents }) => sum + cents, 0),
      }));
    }
  },
);
