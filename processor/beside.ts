/**
 * What to do instead, for an error about a file that the DAG file expected beside itself, by `import.meta.url`: it runs
 * as a bundle in `folder`.
 */
export function withoutFolder(message: string, folder: string): string {
  if (!message.includes(folder)) return message;
  const text = message.replaceAll(`${folder}/`, "").replaceAll(folder, ".");
  return `${text}; a DAG file runs bundled, where nothing lies beside it: import the file, as text, such as import query from "./query.sql"`;
}
