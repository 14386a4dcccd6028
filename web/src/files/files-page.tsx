interface Props {
  readonly search: string;
  readonly withError: boolean;
}

export function FilesPage({ search, withError }: Props) {
  return <section aria-label="Files" data-search={search} data-errors={withError} />;
}
