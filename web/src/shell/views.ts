/** Named places of the page that someone comes back to, kept in the browser. Pure. */

/** `url` has path and query, as `formatRoute` writes it, without the zone: that stays the reader's own. */
export interface SavedView {
  readonly name: string;
  readonly url: string;
}

/** What fits a dialog; the oldest go first. */
export const MOST_VIEWS = 50;
export const LONGEST_NAME = 80;

function isView(one: unknown): one is SavedView {
  if (typeof one !== "object" || one === null) return false;
  const { name, url } = one as Partial<Record<keyof SavedView, unknown>>;
  return typeof name === "string" && name !== "" && typeof url === "string" && url.startsWith("/");
}

/** What cannot be read counts as nothing saved: storage belongs to the browser and may hold anything. */
export function parseViews(text: string | null): SavedView[] {
  if (text === null) return [];
  try {
    const read: unknown = JSON.parse(text);
    return Array.isArray(read) ? read.filter(isView).slice(-MOST_VIEWS) : [];
  } catch {
    return [];
  }
}

/** Under a name that is known the new place takes the old one's. */
export function saveView(views: readonly SavedView[], name: string, url: string): SavedView[] {
  const view = { name: name.trim().slice(0, LONGEST_NAME), url };
  if (view.name === "") return [...views];
  const at = views.findIndex((one) => one.name === view.name);
  return at < 0 ? [...views, view].slice(-MOST_VIEWS) : views.with(at, view);
}

export const dropView = (views: readonly SavedView[], name: string): SavedView[] =>
  views.filter((one) => one.name !== name);
