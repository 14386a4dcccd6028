/** Addresses that end waits: signed, so that they need not be kept, and nobody guesses one. */
import { createHmac, timingSafeEqual } from "node:crypto";

/** Which wait it is. */
export interface WaitPlace {
  readonly run: number;
  readonly taskId: string;
  readonly mapIndex: number;
  readonly try: number;
  /** Number of the wait within its try, from 1. */
  readonly wait: number;
}

const SIGNATURE_BYTES = 18;

export class WaitAddresses {
  readonly #secret: string;
  #base = "";

  /** `base`: where the API is reached, such as `https://meridian.example`. */
  constructor(secret: string, base: string) {
    this.#secret = secret;
    this.reachedAt(base);
  }

  reachedAt(base: string): void {
    this.#base = base.replace(/\/+$/, "");
  }

  /** `base`: where the API is reached by whoever asks. */
  urlOf(place: WaitPlace, base = this.#base): string {
    return `${base}/api/v1/waits/${this.tokenOf(place)}`;
  }

  tokenOf({ run, taskId, mapIndex, try: number, wait }: WaitPlace): string {
    const text = Buffer.from(JSON.stringify([run, taskId, mapIndex, number, wait])).toString("base64url");
    return `${text}.${this.#sign(text)}`;
  }

  /** Null: it was not made here. */
  placeOf(token: string): WaitPlace | null {
    const [text, signature, ...rest] = token.split(".");
    if (text === undefined || signature === undefined || rest.length > 0) return null;
    const given = Buffer.from(signature);
    const right = Buffer.from(this.#sign(text));
    if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
    const [run, taskId, mapIndex, number, wait] = JSON.parse(Buffer.from(text, "base64url").toString()) as [
      number,
      string,
      number,
      number,
      number,
    ];
    return { run, taskId, mapIndex, try: number, wait };
  }

  #sign(text: string): string {
    const digest = createHmac("sha256", this.#secret).update(text).digest();
    return digest.subarray(0, SIGNATURE_BYTES).toString("base64url");
  }
}
