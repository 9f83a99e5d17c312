import { defineConfig } from "vite";
import { frame } from "./frame.js";
import { PAGES } from "./pages.js";

export default defineConfig({
  // Relative addresses: the site works below any path of any static host.
  base: "./",
  plugins: [frame()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    rollupOptions: { input: PAGES.map(({ name }) => `${name}.html`) },
  },
});
