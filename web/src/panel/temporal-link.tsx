export function TemporalLink({ url }: { readonly url: string | null }) {
  if (url === null) return null;
  return (
    <a className="temporal-link" href={url} target="_blank" rel="noreferrer">
      Temporal Web <span aria-hidden="true">↗</span>
    </a>
  );
}
