import { expect, test } from "vitest";
import { exportMeant, optionMeant } from "../../core/airflow-names.ts";

const DAG = ["schedule", "zone", "startDate", "defaults", "doc", "maxActiveRuns", "maxActiveTasks"];
const SENSOR = ["every", "timeout", "softFail"];
const RUN = ["dag", "task", "before", "logicalDate", "every"];
const TASK = [
  "retries",
  "retryDelay",
  "retryFactor",
  "pool",
  "inputs",
  "after",
  "doc",
  "maxActivePerDag",
  "weightRule",
];

test.each([
  ["schedule_interval", DAG, '; did you mean "schedule"?'],
  ["timezone", DAG, '; did you mean "zone"?'],
  ["default_args", DAG, '; did you mean "defaults"?'],
  ["start_date", DAG, '; did you mean "startDate"?'],
  ["max_active_runs", DAG, '; did you mean "maxActiveRuns"?'],
  ["concurrency", DAG, '; did you mean "maxActiveTasks"?'],
  ["max_active_tasks", DAG, '; did you mean "maxActiveTasks"?'],
  ["dag_id", DAG, "; the id is the first argument of dag()"],
  ["retry_exponential_backoff", TASK, '; did you mean "retryFactor"?'],
  ["max_active_tis_per_dag", TASK, '; did you mean "maxActivePerDag"?'],
  ["task_concurrency", TASK, '; did you mean "maxActivePerDag"?'],
  ["weight_rule", TASK, '; did you mean "weightRule"?'],
  ["op_kwargs", TASK, '; did you mean "inputs"?'],
  ["doc_md", TASK, '; did you mean "doc"?'],
  ["poke_interval", SENSOR, '; did you mean "every"?'],
  ["soft_fail", SENSOR, '; did you mean "softFail"?'],
  ["deferrable", SENSOR, "; what waits holds no slot anyway; leave it out"],
  ["external_dag_id", RUN, '; did you mean "dag"?'],
  ["external_task_id", RUN, '; did you mean "task"?'],
  ["execution_delta", RUN, '; did you mean "before"?'],
  // Not of this table: it would be no help.
  ["schedule_interval", TASK, ""],
  ["__proto__", TASK, ""],
  ["constructor", TASK, ""],
])("A1: Airflow's %s leads to our word", (word, known, hint) => {
  expect(optionMeant(word, known)).toBe(hint);
});

test.each([
  ["ExternalTaskSensor", '; did you mean "waitForRun"?'],
  ["TimeDeltaSensor", '; did you mean "waitUntil"?'],
  ["PythonSensor", '; did you mean "sensor"?'],
  ["PythonOperator", '; did you mean "task"?'],
  ["waitfor", '; did you mean "waitFor"?'],
  ["somethingElse", ""],
  ["constructor", ""],
  ["", ""],
])("A1 A6: what is imported as Airflow's %s leads to our word", (word, hint) => {
  expect(exportMeant(word)).toBe(hint);
});
