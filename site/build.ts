/**
 * Builds the documentation as a static site with a search into dist-docs/ (docs/decisions/0051-rspress.md):
 *
 *     npm run docs:site                         for the root of a host; installs the generator if it is missing
 *     npm run docs:site -- --base /sluice/      for a folder of a host
 *     npm run docs:site -- --output <folder>    into another folder
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { renderLlms, renderLlmsFull } from './llms.ts'
import { groupPages, languages, readPages, root, type Language, type Page } from './pages.ts'
import { stagePages } from './stage.ts'

interface Generator {
  build(options: { docDirectory: string; config: object }): Promise<void>
}

const siteFolder = fileURLToPath(new URL('.', import.meta.url))
const labels = { en: 'English', zh: '简体中文' } as const
/** Sections in the bar at the top of each page: the first ones, which are for users. */
const navSections = 4

/** With the English page, in the Chinese folder, for each page that is not written in Chinese. */
function addFallbacks(pages: readonly Page[]): Page[] {
  const written = new Set(pages.filter(({ language }) => language === 'zh').map(({ sitePath }) => sitePath))
  const missing = pages.filter(({ language, sitePath }) => language === 'en' && !written.has(sitePath))
  return [...pages, ...missing.map((page) => ({ ...page, language: 'zh' as const }))]
}

const addressOf = ({ language, sitePath }: Page): string =>
  `${language === 'en' ? '' : `/${language}`}/${sitePath.replace(/(?<=^|\/)index\.md$|\.md$/, '')}`

function localeOf(pages: readonly Page[], language: Language): object {
  const sections = groupPages(pages, language).map(({ name, title, pages: listed }) => ({
    text: title,
    collapsible: true,
    collapsed: name === 'Decisions',
    items: listed.map((page) => ({ text: page.title, link: addressOf(page) })),
  }))
  const nav = sections
    .slice(0, navSections)
    .map(({ text, items: [first] }) => ({ text, link: first?.link ?? '/' }))
  return {
    lang: language,
    label: labels[language],
    title: 'Sluice',
    description: pages.find((page) => page.language === language && page.sitePath === 'index.md')?.summary,
    nav,
    sidebar: { [language === 'en' ? '/' : `/${language}/`]: sections },
  }
}

function configOf(pages: readonly Page[], { base, output }: { base: string; output: string }): object {
  return {
    title: 'Sluice',
    base,
    lang: languages[0],
    outDir: output,
    icon: '/icon.svg',
    logo: '/icon.svg',
    logoText: 'Sluice',
    builderConfig: { output: { cleanDistPath: true, assetPrefix: base } },
    markdown: { link: { checkDeadLinks: true, checkAnchors: true }, image: { checkDeadImages: true } },
    themeConfig: {
      locales: languages.map((language) => localeOf(pages, language)),
      enableContentAnimation: false,
    },
  }
}

async function loadGenerator(): Promise<Generator> {
  if (!existsSync(join(siteFolder, 'node_modules'))) {
    const options = ['--ignore-scripts', '--no-fund', '--no-audit']
    execFileSync('npm', ['ci', ...options], { cwd: siteFolder, stdio: 'inherit' })
  }
  // Not a literal: types are checked without it.
  const name: string = '@rspress/core'
  return (await import(name)) as Generator
}

/** Publishes the Markdown of each page, for language models, and the files that list it. */
function publishMarkdown(pages: readonly Page[], output: string, base: string): void {
  const publishedPath = ({ language, sitePath }: Page): string =>
    language === 'en' ? sitePath : `${language}/${sitePath}`
  for (const page of pages) {
    const path = join(output, publishedPath(page))
    mkdirSync(dirname(path), { recursive: true })
    cpSync(join(root, page.path), path)
  }
  writeFileSync(
    join(output, 'llms.txt'),
    renderLlms(pages, (page) => base + publishedPath(page)),
  )
  writeFileSync(join(output, 'llms-full.txt'), renderLlmsFull(pages))
}

const { values } = parseArgs({
  options: {
    base: { type: 'string', default: '/' },
    output: { type: 'string', default: join(root, 'dist-docs') },
  },
})
const output = resolve(values.output)
const generator = await loadGenerator()
const pages = readPages()
const allPages = addFallbacks(pages)
// Next to the generator's packages, which the pages import once they are compiled.
const folder = mkdtempSync(join(siteFolder, 'node_modules/.stage-'))
try {
  stagePages(allPages, { folder, base: values.base })
  mkdirSync(join(folder, 'public'), { recursive: true })
  cpSync(join(root, 'console/public/sluice.svg'), join(folder, 'public/icon.svg'))
  await generator.build({ docDirectory: folder, config: configOf(allPages, { base: values.base, output }) })
  publishMarkdown(pages, output, values.base)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
