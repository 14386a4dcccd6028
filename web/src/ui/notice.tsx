import type { ReactNode } from "react";
import { ApiError } from "../../../remote/index.ts";
import { isAway } from "../api/api.ts";

interface NoticeProps {
  readonly title: string;
  /** 1 where it is all of the page. */
  readonly level?: 1 | 2;
  readonly children?: ReactNode;
}

/** What stands where data would be: nothing there yet, and what to do about it. */
export function Notice({ title, level = 2, children }: NoticeProps) {
  const Heading = level === 1 ? "h1" : "h2";
  return (
    <div className="notice">
      <Heading>{title}</Heading>
      {children !== undefined && <div className="soft">{children}</div>}
    </div>
  );
}

/** What stands where data would be when it could not be read. */
export function Trouble({ what, error }: { readonly what: string; readonly error: Error }) {
  if (isAway(error)) return <Notice title={`Waiting for the API to show ${what}`} />;
  const code = error instanceof ApiError ? ` (${error.code})` : "";
  return (
    <Notice title={`Cannot show ${what}`}>
      {error.message}
      {code}
    </Notice>
  );
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <p className="loading soft" role="status">
      Reading {what} …
    </p>
  );
}
