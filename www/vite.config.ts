import { defineConfig } from "vite";
import { frame, pages } from "./frame.js";

export default defineConfig({
  // Relative addresses: the site works below any path of any static host.
  base: "./",
  plugins: [frame()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    rollupOptions: { input: pages() },
  },
});
