/** The address bar as a store: every part of the page reads its state from here and writes it back here. */
import { useSyncExternalStore } from "react";
import { rememberedZone } from "../time/remembered-zone.ts";
import { PLAIN_VIEW, formatRoute, parseRoute, type DagView, type Place, type Route } from "./route.ts";

const listeners = new Set<() => void>();
let current: Route = read();

/** An address without a zone gets the remembered one at once: whoever it is sent to sees the same times. */
function read(): Route {
  const route = parseRoute(location.pathname, location.search);
  if (route.zone !== null) return route;
  const whole = { ...route, zone: rememberedZone() };
  history.replaceState(history.state, "", formatRoute(whole));
  return whole;
}

function changed(): void {
  current = read();
  for (const listener of listeners) listener();
}

window.addEventListener("popstate", changed);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, () => current);
}

export function currentRoute(): Route {
  return current;
}

/** `replace` for what the back button should not stop at: typing in a search box, moving along the grid. */
export function navigate(route: Route, replace = false): void {
  const url = formatRoute(route);
  if (url === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  changed();
}

/** Goes to a place and keeps the zone. */
export function goTo(place: Place, replace = false): void {
  navigate({ ...current, place }, replace);
}

export function dagPlace(dagId: string, view: Partial<DagView> = {}): Place {
  return { page: "dag", dagId, view: { ...PLAIN_VIEW, ...view } };
}

/** Changes a part of the open DAG's view. */
export function changeView(change: Partial<DagView>, replace = false): void {
  const { place } = current;
  if (place.page === "dag") goTo({ ...place, view: { ...place.view, ...change } }, replace);
}
