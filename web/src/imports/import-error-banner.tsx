import { useImportErrors } from "../api/queries.ts";
import { Link } from "../routing/link.tsx";
import { Banner } from "../ui/banner.tsx";
import { placeInWords } from "./place.ts";

/** Says that files do not load, which, and leads to the text of the error. */
export function ImportErrorBanner() {
  const errors = useImportErrors().data ?? [];
  const first = errors[0];
  if (first === undefined) return null;
  const rest = errors.length - 1;
  return (
    <Banner tone="bad" live>
      <strong>
        {errors.length === 1 ? "A file does not load: " : `${errors.length} files do not load: `}
      </strong>
      <Link to={{ page: "import-errors", file: first.file }}>
        {first.file}
        {placeInWords(first)}
      </Link>
      {rest > 0 && (
        <>
          {" and "}
          <Link to={{ page: "import-errors", file: null }}>{rest} more</Link>
        </>
      )}
      .{errors.some((error) => error.dagIds.length > 0) && " The last good versions keep running."}
    </Banner>
  );
}
