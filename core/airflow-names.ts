/** What Airflow's users write by habit, in our words. */
import { didYouMean } from "./suggest.ts";

/** Options by Airflow's name, where letters alone do not lead to ours. `=`: not a name but what to do. */
const OPTIONS: Readonly<Record<string, string>> = {
  schedule_interval: "schedule",
  timetable: "schedule",
  cron: "schedule",
  timezone: "zone",
  tz: "zone",
  default_args: "defaults",
  doc_md: "doc",
  tooltip: "doc",
  dag_display_name: "label",
  task_display_name: "label",
  prefix_group_id: "prefix",
  retry_exponential_backoff: "retryFactor",
  templates_dict: "templates",
  op_kwargs: "inputs",
  op_args: "inputs",
  upstream: "after",
  depends_on: "after",
  dependencies: "after",
  executor_config: "isolation",
  resources: "cores",
  cpus: "cores",
  max_active_tis_per_dagrun: "maxActivePerRun",
  max_active_tis_per_dag: "maxActivePerDag",
  task_concurrency: "maxActivePerDag",
  max_map_length: "maxMapped",
  map_index_template: "mapLabel",
  concurrency: "maxActiveTasks",
  poke_interval: "every",
  soft_fail: "softFail",
  mode: "=after its first check a sensor holds no slot, whatever its mode; leave it out",
  deferrable: "=what waits holds no slot anyway; leave it out",
  reschedule: "=after its first check a sensor holds no slot anyway; leave it out",
  exponential_backoff: "=a sensor rests as long between all its checks: every",
  external_dag_id: "dag",
  external_task_id: "task",
  external_task_ids: "=a waitForRun() waits for one task: make one for each, or wait for the run as a whole",
  execution_delta: "before",
  execution_date_fn: "logicalDate",
  target_time: "time",
  target_datetime: "at",
  target_dttm: "at",
  delta: "delay",
  dag_id: "=the id is the first argument of dag()",
  task_id: "=the id is the first argument of task()",
  group_id: "=the id is the first argument of taskGroup()",
  python_callable: "=the body is the last argument of task()",
};

/** Names in templates by Airflow's, as above. */
const TEMPLATE_NAMES: Readonly<Record<string, string>> = {
  execution_date: "logical_date",
  next_execution_date: "data_interval_end",
  next_ds: "data_interval_end | ds",
  next_ds_nodash: "data_interval_end | ds_nodash",
  task_instance: "ti.try_number",
  yesterday_ds: "=templates do not calculate; a body can",
  tomorrow_ds: "=templates do not calculate; a body can",
  var: "=there are no variables; params, conf or a connection hold what changes",
  conn: '=a connection is read in the body: connection("name")',
};

/** What `meridian` exports, by Airflow's names. */
const EXPORTS: Readonly<Record<string, string>> = {
  DAG: "dag",
  TaskGroup: "taskGroup",
  task_group: "taskGroup",
  PythonOperator: "task",
  EmptyOperator: "task",
  BashOperator: "task",
  BranchPythonOperator: "branch",
  ShortCircuitOperator: "shortCircuit",
  PythonSensor: "sensor",
  FileSensor: "sensor",
  SqlSensor: "sensor",
  HttpSensor: "sensor",
  BaseSensorOperator: "sensor",
  ExternalTaskSensor: "waitForRun",
  TimeSensor: "waitUntil",
  TimeSensorAsync: "waitUntil",
  TimeDeltaSensor: "waitUntil",
  TimeDeltaSensorAsync: "waitUntil",
  DateTimeSensor: "waitUntil",
  DateTimeSensorAsync: "waitUntil",
  HITLOperator: "waitFor",
  ApprovalOperator: "waitFor",
  TaskDeferred: "defer",
  AirflowSkipException: "skip",
  AirflowFailException: "fail",
};

/** To be appended to a message about a name that `meridian` does not export; empty when none comes near. */
export const exportMeant = (name: string): string =>
  fromTable(EXPORTS[own(EXPORTS, name)], () => true) || didYouMean(name, new Set(Object.values(EXPORTS)));

/** To be appended to a message about an option that is not among these; empty when none comes near. */
export const optionMeant = (word: string, known: readonly string[]): string =>
  fromTable(OPTIONS[own(OPTIONS, word)], (name) => known.includes(name)) || didYouMean(word, known);

/** The same about a name in a template, `execution_date.year` too. */
export const templateNameMeant = (name: string, known: readonly string[]): string =>
  fromTable(TEMPLATE_NAMES[own(TEMPLATE_NAMES, name.split(".")[0]!)], () => true) || didYouMean(name, known);

/** `__proto__` is nobody's word. */
const own = (table: object, word: string): string => (Object.hasOwn(table, word) ? word : "");

function fromTable(meant: string | undefined, isKnown: (name: string) => boolean): string {
  if (meant === undefined) return "";
  if (meant.startsWith("=")) return `; ${meant.slice(1)}`;
  return isKnown(meant) ? `; did you mean "${meant}"?` : "";
}
