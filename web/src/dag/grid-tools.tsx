import { SPANS, type DagView } from "../routing/route.ts";
import { changeView } from "../routing/use-route.ts";
import { SearchBox } from "../ui/search-box.tsx";

/** Above the grid: which tasks, how many runs, and how far back. `older` is the key of the next page, null at the end. */
export function GridTools({ view, older }: { readonly view: DagView; readonly older: string | null }) {
  return (
    <div className="grid-tools">
      <SearchBox
        label="Filter tasks"
        placeholder="Filter tasks"
        value={view.tasks}
        onChange={(tasks) => changeView({ tasks }, true)}
      />
      <div className="choice" role="group" aria-label="Runs shown">
        {SPANS.map((span) => (
          <button
            key={span}
            type="button"
            aria-pressed={span === view.span}
            onClick={() => changeView({ span }, true)}
          >
            <span className="number">{span}</span>
            <span className="visually-hidden"> runs</span>
          </button>
        ))}
      </div>
      <span className="soft small">runs</span>
      <span className="gap" />
      <button
        type="button"
        className="button"
        disabled={older === null}
        onClick={() => changeView({ before: older })}
      >
        <span aria-hidden="true">←</span> Older
      </button>
      <button
        type="button"
        className="button"
        disabled={view.before === null}
        onClick={() => changeView({ before: null })}
      >
        Newest <span aria-hidden="true">⇥</span>
      </button>
    </div>
  );
}
