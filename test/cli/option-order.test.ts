import { describe, expect, it } from "vitest";
import { optionsLast } from "../../cli/option-order.ts";

describe("C1: options before the command", () => {
  it.each([
    ["--profile prod dags list", "dags list --profile prod"],
    [
      "--url=http://127.0.0.1:8088 -o json runs show sales",
      "runs show sales --url=http://127.0.0.1:8088 -o json",
    ],
    ["--output json tasks test a b -- -x", "tasks test a b --output json -- -x"],
    ["dags list --profile prod", "dags list --profile prod"],
    ["--version", "--version"],
    ["--profile", "--profile"],
    ["--profle prod dags list", "--profle prod dags list"],
  ])("%s", (given, meant) => {
    expect(optionsLast(given.split(" "))).toEqual(meant.split(" "));
  });
});
