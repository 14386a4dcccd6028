// `npm run bench:server`: registers tsx, so that the build script runs on every supported Node.
import { register } from "tsx/esm/api";

register();
await import("./build.ts");
