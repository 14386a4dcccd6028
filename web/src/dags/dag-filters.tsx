import type { DagFacets } from "../../../api/contracts.ts";
import { RUN_STATES } from "../../../core/states.ts";
import { useFacets } from "../api/queries.ts";
import { ALL_DAGS, DAG_FILTERS, type DagFilter, type DagListView } from "../routing/route.ts";
import { goTo } from "../routing/use-route.ts";
import { RUN_LOOK } from "../states/tables.ts";
import { Choice } from "../ui/choice.tsx";
import { SearchBox } from "../ui/search-box.tsx";

const FILTER_WORD: Record<DagFilter, string> = { all: "All", active: "On", paused: "Paused" };

/** Which DAGs to show; all of it stands in the URL. */
export function DagFilters({ list }: { readonly list: DagListView }) {
  const { data: facets } = useFacets();
  const change = (part: Partial<DagListView>): void =>
    goTo({ page: "dags", list: { ...list, ...part } }, true);
  const narrowed = list.tags.length > 0 || list.owner !== null || list.state !== null || list.withError;
  return (
    <div className="filters">
      <SearchBox
        label="Search DAGs"
        placeholder="Search by id or description"
        value={list.search}
        onChange={(search) => change({ search })}
      />
      <Choice
        label="Show"
        values={DAG_FILTERS}
        chosen={list.filter}
        onChoose={(filter) => change({ filter })}
      >
        {(filter) => FILTER_WORD[filter]}
      </Choice>
      <Pick
        label="Tag"
        value=""
        plain={list.tags.length > 0 ? "And tag …" : "Any tag"}
        choices={facets?.tags.filter(({ name }) => !list.tags.includes(name)) ?? []}
        onPick={(tag) => change({ tags: [...list.tags, tag] })}
      />
      <Pick
        label="Owner"
        value={list.owner ?? ""}
        plain="Any owner"
        choices={facets?.owners.filter(({ name }) => name !== "") ?? []}
        onPick={(owner) => change({ owner: owner === "" ? null : owner })}
      />
      <select
        className="field"
        aria-label="State of the last run"
        value={list.state ?? ""}
        onChange={(event) => change({ state: RUN_STATES.find((one) => one === event.target.value) ?? null })}
      >
        <option value="">Any last run</option>
        {RUN_STATES.map((state) => (
          <option key={state} value={state}>
            Last run {RUN_LOOK[state].word}
          </option>
        ))}
      </select>
      <label className="check">
        <input
          type="checkbox"
          checked={list.withError}
          onChange={(event) => change({ withError: event.target.checked })}
        />
        import error
      </label>
      {list.tags.map((tag) => (
        <button
          key={tag}
          type="button"
          className="tag picked-tag"
          aria-label={`No longer by tag ${tag}`}
          onClick={() => change({ tags: list.tags.filter((one) => one !== tag) })}
        >
          {tag} <span aria-hidden="true">✕</span>
        </button>
      ))}
      {narrowed && (
        <button
          type="button"
          className="as-link link small"
          onClick={() => change({ ...ALL_DAGS, search: list.search, filter: list.filter, sort: list.sort })}
        >
          clear
        </button>
      )}
    </div>
  );
}

interface PickProps {
  readonly label: string;
  readonly value: string;
  /** What stands there when nothing is picked. */
  readonly plain: string;
  readonly choices: DagFacets["tags"];
  readonly onPick: (name: string) => void;
}

function Pick({ label, value, plain, choices, onPick }: PickProps) {
  // What the URL names need not be among what there is.
  const known = value === "" || choices.some(({ name }) => name === value);
  return (
    <select
      className="field"
      aria-label={label}
      value={value}
      disabled={choices.length === 0 && value === ""}
      onChange={(event) => onPick(event.target.value)}
    >
      <option value="">{plain}</option>
      {!known && <option value={value}>{value}</option>}
      {choices.map(({ name, dags }) => (
        <option key={name} value={name}>
          {name} ({dags})
        </option>
      ))}
    </select>
  );
}
