import { defineConfig } from "vite";

export default defineConfig({
  // Relative addresses: the site works below any path of any static host.
  base: "./",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    rollupOptions: { input: ["index.html", "lab.html", "train.html", "embed.html"] },
  },
});
