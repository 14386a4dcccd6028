import type { ReactNode } from "react";
import { ApiError, Unreachable } from "../api/fetch.ts";

/** What stands where data would be: nothing there yet, and what to do about it. */
export function Notice({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="notice">
      <h2>{title}</h2>
      {children !== undefined && <div className="soft">{children}</div>}
    </div>
  );
}

/** What stands where data would be when it could not be read. */
export function Trouble({ what, error }: { readonly what: string; readonly error: Error }) {
  if (error instanceof Unreachable) return <Notice title={`Waiting for the API to show ${what}`} />;
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
