// `npm run bench`: registers tsx, so that the bench runs from its sources on every supported Node.
import { register } from "tsx/esm/api";

register();
await import("./main.ts");
