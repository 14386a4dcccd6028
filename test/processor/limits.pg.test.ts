import { expect, test } from "vitest";
import { NO_LIMITS, type LimitsFile } from "../../core/limits-file.ts";
import { applyLimits } from "../../db/apply-limits.ts";
import { useRig } from "./rig.ts";
import { dagText } from "./support.ts";

const rig = useRig();

const LIMITS: LimitsFile = {
  ...NO_LIMITS,
  tenants: { sales: { slots: 5 } },
  rules: [
    { tag: "close", tenant: "sales", class: "critical" },
    { owner: "ann", tenant: "sales" },
    { dags: "nightly_*", class: "best_effort" },
  ],
};
const apply = async (file: LimitsFile) =>
  await applyLimits(rig.pool, { file, who: "t", ifCurrent: undefined });

test("B12: a DAG gets its tenant and class by the limits in force, when it is new and when it changes; its author has no say", async () => {
  const p = rig.processor();
  rig.place.write("old.ts", dagText("nightly_a"));
  await p.pass();
  expect(await rig.dag("nightly_a")).toMatchObject({ tenant: null, class: 1 });
  await apply(LIMITS);
  expect(await rig.dag("nightly_a")).toMatchObject({ tenant: null, class: 0 });
  rig.place.write("old.ts", dagText("nightly_a", `{ owner: "ann" }`));
  rig.place.write("new.ts", dagText("x", `{ owner: "bob", tags: ["close"] }`));
  rig.place.write("names.ts", dagText("y", `{ tenant: "sales" }`));
  await p.pass();
  expect(await rig.dag("nightly_a")).toMatchObject({ tenant: "sales", class: 1 });
  expect(await rig.dag("x")).toMatchObject({ tenant: "sales", class: 2 });
  expect((await rig.file("names.ts")).error).not.toBeNull();
});

test("B12: DAGs stored while limits are applied end up where the limits in force say", async () => {
  const p = rig.processor();
  for (let i = 0; i < 25; i++) rig.place.write(`d${i}.ts`, dagText(`nightly_${i}`));
  const applied = async (): Promise<void> => {
    for (let i = 0; i < 8; i++) {
      const place = i % 2 === 0 ? "critical" : "best_effort";
      await apply({ ...LIMITS, rules: [{ dags: "nightly_*", class: place }] });
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
  };
  await Promise.all([p.pass(), applied()]);
  const { rows } = await rig.pool.query("select distinct class from app.dag");
  expect(rows).toEqual([{ class: 0 }]);
});
