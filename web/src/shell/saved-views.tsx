import { useState } from "react";
import { Link } from "../routing/link.tsx";
import { formatRoute, parseRoute, type Place } from "../routing/route.ts";
import { useRoute } from "../routing/use-route.ts";
import { Dialog } from "../ui/dialog.tsx";
import { recall, remember } from "../ui/remembered.ts";
import { LONGEST_NAME, dropView, parseViews, saveView, type SavedView } from "./views.ts";

const KEY = "views";

function placeOf({ url }: SavedView): Place {
  const { pathname, search } = new URL(url, location.origin);
  return parseRoute(pathname, search).place;
}

/** Places by name: each is the page's URL, so it brings back filters, runs and what was open. */
export function SavedViews() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button plain" onClick={() => setOpen(true)}>
        Views
      </button>
      {open && <ViewsDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function ViewsDialog({ onClose }: { readonly onClose: () => void }) {
  const { place } = useRoute();
  const here = formatRoute({ place, zone: null });
  const [views, setViews] = useState(() => parseViews(recall(KEY)));
  const keep = (next: SavedView[]): void => {
    remember(KEY, JSON.stringify(next));
    setViews(next);
  };
  const [name, setName] = useState("");
  const known = views.some((view) => view.name === name.trim());
  return (
    <Dialog title="Saved views" onClose={onClose}>
      {views.length === 0 ? (
        <p className="soft">
          None yet. A view is this page as it stands: its filters, and what is open. It is kept in this
          browser; a link to it shows others the same.
        </p>
      ) : (
        <ul className="saved-views">
          {views.map((view) => (
            <li key={view.name}>
              <Link
                to={placeOf(view)}
                onClick={onClose}
                {...(view.url === here && { "aria-current": "page" })}
              >
                {view.name}
              </Link>
              <code className="soft small clip" title={view.url}>
                {view.url}
              </code>
              <button
                type="button"
                className="button plain"
                aria-label={`Delete ${view.name}`}
                onClick={() => keep(dropView(views, view.name))}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          keep(saveView(views, name, here));
          setName("");
        }}
      >
        <label>
          Save this page as
          <input
            className="field"
            data-first
            maxLength={LONGEST_NAME}
            placeholder="My failed DAGs"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <div className="dialog-foot">
          <button type="submit" className="button primary" disabled={name.trim() === ""}>
            {known ? "Replace" : "Save"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
