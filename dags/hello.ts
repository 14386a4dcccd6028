import { dag, task } from "meridian";

export const hello = dag("hello", { schedule: "*/5 * * * *", startDate: "2026-01-01" }, () => {
  const numbers = task("numbers", () => [1, 2, 3]);

  const total = task("total", { inputs: { numbers } }, ({ inputs, log }) => {
    log.info(`adding ${inputs.numbers.length} numbers`);
    return inputs.numbers.reduce((a, b) => a + b, 0);
  });

  task("report", { inputs: { total }, retries: 2, retryDelay: "5s" }, ({ inputs, ds }) => {
    return `${ds}: the total is ${inputs.total}`;
  });
});
