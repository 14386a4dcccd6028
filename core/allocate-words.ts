/** Why requests wait, in words: what page, alert and why-slow read (design 4). */
import { CLASS_NAMES, type Dial } from "./limits.ts";

/** `pool:p` as people say it. */
function accountInWords(key: string): string {
  const [kind, name, task] = key.split(":");
  switch (kind) {
    case "runs":
      return `the active runs of dag "${name}"`;
    case "tasks":
      return `the active tasks of dag "${name}"`;
    case "task":
      return `the active tries of task "${name}.${task}"`;
    case "adhoc":
      return `what runs by hand may take of pool "${name}"`;
    default:
      return `${kind} "${name}"`;
  }
}

/** It can not be granted however much comes free. */
export function neverInWords(key: string, slots: number | null, needs: number): string {
  const name = accountInWords(key);
  return slots === null
    ? `can never run: ${name} does not exist`
    : `can never run: needs ${needs}, ${name} has ${slots}`;
}

export function fullInWords(key: string, used: number, slots: number, needs: number): string {
  const name = accountInWords(key);
  switch (key.slice(0, key.indexOf(":"))) {
    case "runs":
    case "tasks":
    case "task":
      return `${name} are at their limit: ${used} of ${slots}`;
    case "adhoc":
      return `${name} is in use: ${used} of ${slots}, needs ${needs}`;
    default:
      return `${name} is full: ${used} of ${slots} in use, needs ${needs}`;
  }
}

/** There is room, but not for the one ahead, who waits for it. */
export const behindInWords = (key: string, awaited: number, free: number, slots: number): string =>
  `waits behind one that needs ${awaited}: ${accountInWords(key)} has ${free} of ${slots} free`;

/** It stands behind those that are looked at. */
export const behindOthersInWords = (key: string, others: number): string =>
  `waits behind more than ${others} others for ${accountInWords(key)}`;

/** A place is set aside for one ahead that waits for another account. */
export const keptInWords = (key: string, other: string): string =>
  `waits behind one that waits for ${accountInWords(other)}: it keeps a place among ${accountInWords(key)}`;

export const exhaustedInWords = (key: string, coreHours: number): string =>
  `${accountInWords(key)} has used up its ${coreHours} core-hours of today; it goes on at 00:00 UTC`;

export const takingBackInWords = (key: string, cohort: string, slots: number): string =>
  cohort.startsWith("adhoc:")
    ? `scheduled work takes back its floor of ${accountInWords(key)}: ${slots} to come`
    : `${accountInWords(key)} takes back what it lent to others of ${accountInWords(cohort)}: ${slots} to come`;

/** To the owner of a try that is asked to give its slots back. */
export const givesBackInWords = (owner: string): string =>
  owner.startsWith("pool:")
    ? `the try gave its slots back: scheduled work takes back its floor of ${accountInWords(owner)}; it runs again, and no retry is used up`
    : `the try gave its slots back: ${accountInWords(owner)} needs what it had lent; it runs again, and no retry is used up`;

const dialInWords = ({ who, reason }: Dial): string =>
  `the emergency dial (${who}: ${reason === "" ? "no reason given" : reason})`;

export const dialGivesBackInWords = (dial: Dial): string =>
  `the try gave its slots back: ${dialInWords(dial)} holds it back; it runs again when that lets it, and no retry is used up`;

export const belowDialInWords = (dial: Dial): string => {
  const bounds = [
    ...(dial.belowClass === null ? [] : [`below class ${CLASS_NAMES[dial.belowClass]}`]),
    ...(dial.belowPriority === null ? [] : [`below priority ${dial.belowPriority}`]),
  ];
  return `${dialInWords(dial)} holds back what is ${bounds.join(" or ")}`;
};

export const dialFullInWords = (dial: Dial, used: number): string =>
  `${dialInWords(dial)} lets ${dial.tries} tries run at once, and ${used} do`;
