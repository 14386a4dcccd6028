import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { formatRoute, type Place } from "./route.ts";
import { navigate, useRoute } from "./use-route.ts";

type Props = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href"> & { readonly to: Place };

/** An ordinary link (copy, middle click and new tab work) that stays within the page on a plain click. */
export function Link({ to, onClick, ...rest }: Props) {
  const { zone } = useRoute();
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (!plain || event.defaultPrevented) return;
    event.preventDefault();
    navigate({ place: to, zone });
  };
  return <a {...rest} href={formatRoute({ place: to, zone })} onClick={follow} />;
}
