// Entry of body threads and body processes. On Node 20 neither inherits tsx from its parent, so it is registered here.
import { register } from "tsx/esm/api";

register();
await import("./main.ts");
