import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { type HTMLElement, parse } from "node-html-parser";
import type { HtmlTagDescriptor, Plugin } from "vite";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** The message of a page where none of its programs runs. */
const WITHOUT_SCRIPTS: HtmlTagDescriptor = {
  tag: "noscript",
  children: '<p class="status" data-kind="error">This page computes in the browser, and needs JavaScript.</p>',
  injectTo: "body-prepend",
};

/** The heads of all pages, before their own lines. */
const HEAD: HtmlTagDescriptor[] = [
  { tag: "meta", attrs: { charset: "utf-8" } },
  { tag: "meta", attrs: { name: "viewport", content: "width=device-width, initial-scale=1" } },
  { tag: "meta", attrs: { name: "color-scheme", content: "light dark" } },
  { tag: "link", attrs: { rel: "icon", href: "./icon.svg", type: "image/svg+xml" } },
  { tag: "link", attrs: { rel: "stylesheet", href: "/src/style.css" } },
];

/** The pages of the site: the files `NAME.html` beside this one. */
export function pages(): string[] {
  return readdirSync(FOLDER).filter((file) => file.endsWith(".html"));
}

/** Completes each page, and puts the links of all pages into its `<nav>`, which has only its own. */
export function frame(): Plugin {
  return {
    name: "frame",
    transformIndexHtml: {
      order: "pre",
      handler(content, { filename }) {
        const own = linkOf(parse(content), filename);
        const links = pages().map((file) => linkOf(parse(readFileSync(FOLDER + file, "utf8")), file));
        for (const link of links) {
          if (link.getAttribute("href") !== own.getAttribute("href")) link.removeAttribute("aria-current");
        }
        links.sort((a, b) => place(a) - place(b));
        const [start, end] = own.range;
        return { html: content.slice(0, start) + links.join("\n") + content.slice(end), tags: [...HEAD, WITHOUT_SCRIPTS] };
      },
    },
  };
}

/** The link of a page to itself, which is also its link on the others. */
function linkOf(page: HTMLElement, path: string): HTMLElement {
  const file = basename(path);
  const link = page.querySelector(`nav > a[href="./${file}"][aria-current="page"]`);
  if (!link || !(place(link) > 0)) {
    throw new Error(`${file} needs <nav aria-label="Pages"><a href="./${file}" aria-current="page" data-place="NUMBER">…</a></nav>`);
  }
  return link;
}

/** The place of a link in the navigation, from 1 on. */
function place(link: HTMLElement): number {
  return Number(link.getAttribute("data-place"));
}
