/** Small choices kept in the browser. Storage may be forbidden: then they last as long as the page. */
export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(`meridian.${key}`, value);
  } catch {
    // Nothing to do: the choice holds for this page.
  }
}

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(`meridian.${key}`);
  } catch {
    return null;
  }
}
