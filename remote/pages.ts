/** A list of the API: read item by item over all its pages, page by page, or only the first page. */
export interface Pages<Item, Page> extends AsyncIterable<Item> {
  /** The first page, with what the API says of the whole list. */
  first(): Promise<Page>;
  /** The page that follows the one which ended with this key (its `after` or `before`); null: the first. */
  page(key: string | number | null): Promise<Page>;
  /** Page after page. */
  pages(): AsyncIterable<Page>;
  /** All items, or the first `most`. */
  all(most?: number): Promise<Item[]>;
}

/** `read` gets the key that the last page ended with; `split` says what a page holds and the key of the next one. */
export function pagesOf<Item, Page>(
  read: (after: string | number | null) => Promise<Page>,
  split: (page: Page) => { items: readonly Item[]; next: string | number | null },
): Pages<Item, Page> {
  async function* pages(): AsyncGenerator<Page, void, undefined> {
    for (let key: string | number | null = null; ;) {
      const page: Page = await read(key);
      yield page;
      key = split(page).next;
      if (key === null) return;
    }
  }
  async function* items(): AsyncGenerator<Item, void, undefined> {
    for await (const page of pages()) yield* split(page).items;
  }
  return {
    first: async () => await read(null),
    page: read,
    pages,
    async all(most = Number.POSITIVE_INFINITY) {
      const found: Item[] = [];
      if (most <= 0) return found;
      for await (const item of items()) {
        found.push(item);
        if (found.length >= most) break;
      }
      return found;
    },
    [Symbol.asyncIterator]: items,
  };
}
