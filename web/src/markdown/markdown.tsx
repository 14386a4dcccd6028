/** Docs that authors wrote in Markdown. The renderer is read when the first of them is shown. */
import { lazy, Suspense } from "react";

const MarkdownBody = lazy(() => import("./markdown-body.tsx"));

export function Markdown({ text }: { readonly text: string }) {
  if (text.trim() === "") return null;
  return (
    <Suspense fallback={<p className="prose">{text}</p>}>
      <MarkdownBody text={text} />
    </Suspense>
  );
}
