import { When } from "./when.tsx";

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A reason as the API tells it, its instants in the zone in use. */
export function Reason({ text }: { readonly text: string }) {
  return (
    <>
      {text.split(INSTANT).map((part, at) => (at % 2 === 0 ? part : <When key={at} at={Date.parse(part)} />))}
    </>
  );
}
