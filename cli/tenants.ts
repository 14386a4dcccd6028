/** Tenants: what is their own, what they use, who lends to whom. */
import type { Command } from "commander";
import type { Loan, Tenant } from "../api/contracts-tenants.ts";
import { connect, withServer, type ServerOptions } from "./connect.ts";
import { columnsOf, printJson, printList, withTable, type Output, type Table } from "./output.ts";

const TENANTS: Table<Tenant> = {
  columns: {
    name: (tenant) => tenant.name,
    cohort: (tenant) => tenant.cohort,
    slots: (tenant) => tenant.slots,
    most: (tenant) => tenant.most,
    used: (tenant) => tenant.used,
    borrowed: (tenant) => tenant.borrowed,
    lent: (tenant) => tenant.lent,
    waiting: (tenant) => tenant.waiting,
    waitingSlots: (tenant) => tenant.waitingSlots,
    preempted: (tenant) => tenant.preempted,
    recentUse: (tenant) => tenant.recentUse,
    share: (tenant) => tenant.share,
    coreHoursToday: (tenant) => tenant.coreHoursToday,
    coreHoursQuota: (tenant) => tenant.coreHoursQuota,
    exhaustedUntil: (tenant) => tenant.exhaustedUntil,
  },
  shown: [
    "name",
    "cohort",
    "slots",
    "used",
    "borrowed",
    "lent",
    "waiting",
    "coreHoursToday",
    "coreHoursQuota",
  ],
  id: (tenant) => tenant.name,
};

const LOANS: Table<Loan> = {
  columns: {
    from: (loan) => loan.from ?? `cohort ${loan.cohort}`,
    to: (loan) => loan.to,
    slots: (loan) => loan.slots,
  },
  shown: ["from", "to", "slots"],
  id: (loan) => `${loan.from ?? ""} ${loan.to}`,
};

/** `meridian tenants` */
export function tenantCommands(program: Command): void {
  withServer(withTable(program.command("tenants"), TENANTS))
    .description("tenants with their slots, use and quota, and who lends to whom now")
    .addHelpText("after", "\nExample:\n  meridian tenants --columns name,slots,used,share")
    .action(async (options: Output & ServerOptions) => {
      columnsOf(TENANTS, options);
      const found = await (await connect(options)).tenants();
      if (options.output === "json") return printJson(found);
      printList(found.tenants, TENANTS, options);
      if (found.loans.length === 0 || options.quiet === true) return;
      console.log("\nlends:");
      printList(found.loans, LOANS, { output: "table" });
    });
}
