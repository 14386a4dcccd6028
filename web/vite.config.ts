import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** `vite web` serves the page for work on it and passes /api on to a running API; `vite build web` makes web/dist. */
export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    // The first versions that know light-dark(); older ones would need a copy of every colour.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    outDir: "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
  },
  server: {
    host: "127.0.0.1",
    proxy: { "/api": process.env["MERIDIAN_API_URL"] ?? "http://127.0.0.1:8080" },
  },
});
