/**
 * Copies the documentation into the folder layout of the generator: one folder for each language, with links that lead
 * to pages of the site. Links to other files, such as sources, become plain text.
 */
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

import { root, type Page } from './pages.ts'

/** Browsers index the texts when the search is opened: without history and decisions, which are a third of them. */
const unsearchedPages = /^docs\/decisions\/|^CHANGELOG\.md$/
const pictureTypes = /\.(svg|png|jpe?g|webp|gif)$/

export interface Stage {
  /** The folder of the Markdown files, `<language>/<site path>`. */
  readonly folder: string
  /** Where the site is served: `/` or `/sluice/`. */
  readonly base: string
}

/** Copies a picture to where the site serves it, at its path from the root of the project. */
function publishPicture(folder: string, path: string): void {
  const target = join(folder, 'public', path)
  mkdirSync(dirname(target), { recursive: true })
  cpSync(join(root, path), target)
}

/** The part of a text outside fenced code blocks, changed. */
function changeProse(text: string, change: (prose: string) => string): string {
  return text
    .split(/(^ *```.*?^ *```$)/ms)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('')
}

function stagedPath({ language, sitePath }: Page): string {
  return join(language, sitePath)
}

/** A page as the generator reads it. */
export function stagePage(page: Page, pages: readonly Page[], stage: Stage): string {
  const pathOf = (link: string): string => join(dirname(page.path), decodeURI(link))
  const rewriteLink = (label: string, link: string, anchor: string): string => {
    const linked = pathOf(link).replace(/\/$/, '')
    // A folder: its index, otherwise its first page.
    const target =
      pages.find((each) => each.path === linked || each.path === `${linked}/README.md`) ??
      pages.find((each) => each.path.startsWith(`${linked}/`))
    if (target === undefined) return label
    // Stays in the reader's language, unless the link leads to the other one.
    const isTranslation = target.language === 'zh' || target.sitePath === page.sitePath
    const language = isTranslation ? target.language : page.language
    const path = relative(dirname(stagedPath(page)), stagedPath({ ...target, language }))
    return `[${label}](${path}${anchor})`
  }
  const rewritePicture = (base: string, [whole, before, link, after]: readonly unknown[]): string => {
    const path = pathOf(String(link))
    if (!existsSync(join(root, path))) return String(whole)
    publishPicture(stage.folder, path)
    return `${String(before)}${base}${path}${String(after)}`
  }
  return changeProse(page.text, (prose) =>
    prose
      // An address in Markdown gets the base from the generator, one in HTML does not.
      .replaceAll(/(!\[[^\]]*\]\()(?!https?:)([^)#\s]+)(\))/g, (...match) => rewritePicture('/', match))
      .replaceAll(/((?:src|srcset)=")(?!https?:)([^"\s]+)(")/g, (...match) =>
        rewritePicture(stage.base, match),
      )
      .replaceAll(
        /(?<!!)\[((?:[^[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)/g,
        (whole: string, label: string, link: string, anchor: string | undefined) =>
          pictureTypes.test(link) ? whole : rewriteLink(label, link, anchor ?? ''),
      ),
  )
}

export function stagePages(pages: readonly Page[], stage: Stage): void {
  for (const page of pages) {
    const path = join(stage.folder, stagedPath(page))
    mkdirSync(dirname(path), { recursive: true })
    const frontMatter = unsearchedPages.test(page.path) ? '---\nsearch: false\n---\n\n' : ''
    writeFileSync(path, frontMatter + stagePage(page, pages, stage))
  }
}
