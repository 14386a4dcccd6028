// Entry of a contestant's process. A child does not inherit tsx on Node 20, so it registers it itself.
import { register } from "tsx/esm/api";

register();
await import("./host.ts");
