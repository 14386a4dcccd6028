/** Orders as a file, for whoever asks: params make the form of the Trigger button, templates the file's name. */
import { dag, skip } from "meridian";
import { z } from "zod";
import { ordersOf, PRODUCTS, REGIONS, type Order } from "./shared/orders.ts";

const DAY_MS = 86_400_000;

const params = z.object({
  from: z.iso.date().meta({ title: "First day", description: "The first day of orders to export" }),
  days: z.int().min(1).max(31).default(7).meta({ title: "Days", description: "How many days, at most 31" }),
  region: z.enum(REGIONS).default("eu").meta({ title: "Region" }),
  products: z
    .array(z.enum(PRODUCTS))
    .min(1)
    .default([...PRODUCTS])
    .meta({ title: "Products", description: "A list; without it all of them" }),
  minimum: z.number().min(0).default(0).meta({ title: "Smallest order", description: "In euros" }),
  format: z.enum(["csv", "json"]).default("csv").meta({ title: "Format" }),
  samples: z.boolean().default(false).meta({ title: "Free samples", description: "Export them too" }),
  note: z
    .string()
    .max(200)
    .optional()
    .meta({ title: "Note", description: "Why it is wanted; goes to the log" }),
});

export const salesExport = dag(
  "sales_export",
  {
    schedule: null,
    params,
    description: "Orders as CSV or JSON; triggered by hand, with a form",
    owner: "shop",
    tags: ["example", "params", "templates"],
  },
  // This `task` knows the params: bodies see them with their types.
  ({ task }) => {
    const select = task("select", ({ params, log }) => {
      if (params.note !== undefined) log.info(`asked for because: ${params.note}`);
      const firstAt = Date.parse(params.from);
      const days = Array.from({ length: params.days }, (_, n) =>
        new Date(firstAt + n * DAY_MS).toISOString().slice(0, 10),
      );
      const orders = days.flatMap(ordersOf).filter((order) => {
        if (order.region !== params.region || !params.products.includes(order.product)) return false;
        return order.cents === 0 ? params.samples : order.cents >= params.minimum * 100;
      });
      if (orders.length === 0) skip("no order fits");
      return orders;
    });

    const file = task(
      "write",
      {
        inputs: { orders: select },
        templates: {
          path: "exports/{{ params.region }}/{{ params.from }}-{{ params.days }}d.{{ params.format }}",
          title: "{{ dag_id }}, triggered for {{ logical_date | ts }}",
        },
      },
      ({ inputs, params, templates, log }) => {
        log.info(`${templates.title}: ${inputs.orders.length} orders to ${templates.path}`);
        const text = params.format === "csv" ? csvOf(inputs.orders) : JSON.stringify(inputs.orders, null, 2);
        return { path: templates.path, text };
      },
    );

    task("announce", { inputs: { file } }, ({ inputs, log }) => {
      log.info(`${inputs.file.path} is ready: ${inputs.file.text.length} characters`);
      return inputs.file.path;
    });
  },
);

function csvOf(orders: readonly Order[]): string {
  const rows = orders.map(({ id, day, product, pieces, cents }) =>
    [id, day, product, pieces, cents].join(","),
  );
  return ["id,day,product,pieces,cents", ...rows].join("\n");
}
