import { useQuery } from "@tanstack/react-query";
import type { Loan, Tenant, TenantList } from "../../../api/contracts-tenants.ts";
import { api } from "../api/api.ts";
import { pollMs } from "../api/live.ts";

const TENANTS_MS = 3000;

const useTenants = () =>
  useQuery({
    queryKey: ["tenants"],
    queryFn: ({ signal }) => api.tenants({ signal }),
    refetchInterval: () => pollMs(TENANTS_MS),
  });

/** What is whose, and who lends to whom; nothing where no limits are applied. */
export function TenantsPart() {
  const found: TenantList = useTenants().data ?? { tenants: [], loans: [] };
  if (found.tenants.length === 0) return null;
  return (
    <section aria-labelledby="tenants" className="tenants">
      <div className="list-head">
        <h2 id="tenants">Tenants</h2>
        <span className="soft number">{found.tenants.length}</span>
      </div>
      <div className="pools-scroll">
        <table className="sheet">
          <thead>
            <tr>
              <th scope="col">Tenant</th>
              <th scope="col">Who lends to whom</th>
              {["Used", "Own", "Waiting", "Share", "Core-hours today"].map((name) => (
                <th key={name} scope="col" className="figure">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.tenants.map((tenant) => (
              <TenantRow key={tenant.name} tenant={tenant} loans={found.loans} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function TenantRow({ tenant, loans }: { readonly tenant: Tenant; readonly loans: readonly Loan[] }) {
  const { name, cohort, share } = tenant;
  const quota = tenant.coreHoursQuota === null ? "" : ` of ${tenant.coreHoursQuota}`;
  return (
    <tr>
      <th scope="row">
        {name}
        <span className="soft small"> {cohort === null ? "alone" : `in ${cohort}`}</span>
      </th>
      <td className="small">{loansInWords(name, loans)}</td>
      <td className="figure">{tenant.used}</td>
      <td className="figure">{tenant.slots}</td>
      <td className={`figure${tenant.waiting > 0 ? " busy" : ""}`}>{tenant.waiting}</td>
      <td className="figure">{share === null ? "–" : `${Math.round(share * 100)} %`}</td>
      <td className={`figure${tenant.exhaustedUntil === null ? "" : " busy"}`}>
        {tenant.coreHoursToday.toFixed(1)}
        {quota}
      </td>
    </tr>
  );
}

function loansInWords(name: string, loans: readonly Loan[]): string {
  const words = [
    ...loans.filter(({ from }) => from === name).map(({ to, slots }) => `lends ${slots} to ${to}`),
    ...loans
      .filter(({ to }) => to === name)
      .map(({ from, cohort, slots }) => `borrows ${slots} of ${from ?? `what is nobody's in ${cohort}`}`),
  ];
  return words.length === 0 ? "–" : words.join(", ");
}
