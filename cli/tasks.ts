import type { Command } from "commander";
import { addTasksLocal } from "./local.ts";

/** `meridian tasks …`: the names Airflow users know. */
export function taskCommands(program: Command): void {
  const tasks = program.command("tasks").description("tasks: test, render");
  addTasksLocal(tasks);
}
