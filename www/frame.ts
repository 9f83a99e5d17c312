import type { Plugin } from "vite";
import { type Page, PAGES } from "./pages.js";

/** Puts the content of each page into the one template, with links to all pages where it says `<!-- pages -->`. */
export function frame(): Plugin {
  return {
    name: "frame",
    transformIndexHtml: {
      order: "pre",
      handler(content, { filename }) {
        const page = PAGES.find(({ name }) => filename.endsWith(`/${name}.html`));
        if (!page) throw new Error(`${filename} has no line in pages.ts`);
        return template(page, content.replace("<!-- pages -->", navigation(page)));
      },
    },
  };
}

function template({ name, title, description, drop, style }: Page, content: string): string {
  const sheets = ["/src/style.css", ...(style === undefined ? [] : [style])];
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="description" content="${escaped(description)}" />
    <title>Simile · ${escaped(title)}</title>
    <link rel="icon" href="./icon.svg" type="image/svg+xml" />
    ${sheets.map((sheet) => `<link rel="stylesheet" href="${sheet}" />`).join("\n    ")}
    <script type="module" src="/src/${name}/main.ts"></script>
  </head>
  <body${drop === undefined ? "" : ` data-drop="${escaped(drop)}"`}>
${content}  </body>
</html>
`;
}

function navigation(current: Page): string {
  const links = PAGES.map(({ name, link }) => {
    const mark = name === current.name ? ' aria-current="page"' : "";
    return `<a href="./${name}.html"${mark}>${escaped(link)}</a>`;
  });
  return `<nav aria-label="Pages">\n${links.join("\n")}\n</nav>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
