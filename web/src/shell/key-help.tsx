import { Dialog } from "../ui/dialog.tsx";

const KEYS: readonly (readonly [readonly string[], string])[] = [
  [["/"], "Go to the search box"],
  [["←", "→", "↑", "↓"], "Move in the grid"],
  [["h", "l", "k", "j"], "The same; j and k also go through the list of DAGs"],
  [["Home", "End"], "Oldest and newest run shown"],
  [["Enter"], "Open the run or task under the focus"],
  [["x"], "Fold or unfold the group under the focus"],
  [["1", "…", "5"], "Grid, graph, Gantt, code, details"],
  [["Esc"], "Close what is open"],
  [["t"], "Trigger a run of the open DAG"],
  [["?"], "Show these keys"],
];

export function KeyHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="keys">
        {KEYS.map(([keys, meaning]) => (
          <div key={meaning} style={{ display: "contents" }}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
