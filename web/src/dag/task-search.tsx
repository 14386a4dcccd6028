import { changeView } from "../routing/use-route.ts";
import { SearchBox } from "../ui/search-box.tsx";

/** Which tasks a view shows, or where it points to them: `says` which. */
export function TaskSearch({ says, value }: { readonly says: string; readonly value: string }) {
  return <SearchBox label={says} placeholder={says} value={value} onChange={search} />;
}

const search = (tasks: string): void => changeView({ tasks }, true);
