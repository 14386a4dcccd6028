import { memo, type AnchorHTMLAttributes, type ImgHTMLAttributes } from "react";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import "./markdown.css";

type Node = { readonly node?: unknown };

/** Out of the page: the other side gets neither a handle on it nor its address. */
function SafeLink({ node: _node, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & Node) {
  // Of an address that is not let through nothing is left.
  if (rest.href === undefined || rest.href === "") return <>{rest.children}</>;
  return <a {...rest} target="_blank" rel="noopener noreferrer nofollow" />;
}

/** The page loads nothing from elsewhere, so a picture is a link to it. */
function PictureLink({ node: _node, src, alt }: ImgHTMLAttributes<HTMLImageElement> & Node) {
  if (src === undefined || src === "") return <>{alt}</>;
  return <SafeLink href={src}>{alt === undefined || alt === "" ? src : `picture: ${alt}`}</SafeLink>;
}

/** A box of a list of tasks, which nobody can tick here. */
function Box({ checked }: { readonly checked?: boolean | undefined }) {
  return (
    <span role="img" aria-label={checked === true ? "done" : "open"}>
      {checked === true ? "☑" : "☐"}{" "}
    </span>
  );
}

const LEVELS = ["h3", "h4", "h5", "h6", "h6", "h6"] as const;
/** The page has its own first and second level. */
const HEADINGS = Object.fromEntries(LEVELS.map((name, at) => [`h${at + 1}`, name]));

const PLUGINS = [remarkGfm];
const COMPONENTS = { ...HEADINGS, a: SafeLink, img: PictureLink, input: Box };

/** Raw HTML in the text stays text; addresses other than http, https, mailto and relative ones lead nowhere. */
export default memo(function MarkdownBody({ text }: { readonly text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {dedent(text)}
      </ReactMarkdown>
    </div>
  );
});

/** A doc in a template literal is indented like its code, which Markdown would read as a block of code. */
function dedent(text: string): string {
  const lines = text.replaceAll("\t", "  ").split("\n");
  const rest = lines.slice(1).filter((line) => line.trim() !== "");
  const common =
    rest.length === 0 ? 0 : Math.min(...rest.map((line) => line.length - line.trimStart().length));
  return [(lines[0] ?? "").trimStart(), ...lines.slice(1).map((line) => line.slice(common))].join("\n");
}
