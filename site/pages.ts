/** The pages of the documentation, in the sections in which the site and llms.txt list them. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

export const languages = ['en', 'zh'] as const
export type Language = (typeof languages)[number]

export interface Page {
  /** From the root of the project: `docs/operations/README.md`. */
  readonly path: string
  readonly language: Language
  /** In the folder of its language, with which its address begins: `operations/index.md`. */
  readonly sitePath: string
  readonly text: string
  readonly title: string
  /** The first sentence after the title, without markup; empty if there is none. */
  readonly summary: string
}

export interface Section {
  /** The title in English. */
  readonly name: string
  readonly title: string
  readonly pages: readonly Page[]
}

/** The sections, in order. A page belongs to the first one that has its path. */
const sections = [
  { en: 'Goals', zh: '按目标', pattern: /^docs\/goals\// },
  { en: 'Clients', zh: '客户端', pattern: /^docs\/(clients\/|codex\.md)/ },
  { en: 'API', zh: 'API', pattern: /^docs\/(api|completions|embeddings|errors|messages|responses)\.md/ },
  { en: 'Operations', zh: '运维', pattern: /^docs\/operations\// },
  { en: 'Reference', zh: '参考', pattern: /^docs\/(?!decisions\/)/ },
  { en: 'Project', zh: '项目', pattern: /^(?!docs\/)/ },
  { en: 'Decisions', zh: '设计决策', pattern: /^docs\/decisions\// },
] as const

/** The pages that the home pages are made from. */
const homes: Readonly<Record<string, Language>> = { 'README.md': 'en', 'README.zh-CN.md': 'zh' }
const chineseFolder = 'docs/zh-cn/'

function withoutMarkup(text: string): string {
  return text
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[*_]{2}|<[^>]+>/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** The first sentence of the first paragraph: no heading, list, table, picture or code. */
function summaryOf(text: string): string {
  const paragraph = text
    .replaceAll(/^ *```.*?^ *```$/gms, '')
    .split(/\n{2,}/)
    .map((block) => block.trim())
    .find((block) => /^[^#<>|!\-=]/.test(block) && !/^[*\d]+\.? /.test(block) && withoutMarkup(block) !== '')
  const [sentence = ''] = /^.*?(?:[.!?](?= |$)|[。！？]|$)/.exec(withoutMarkup(paragraph ?? '')) ?? []
  return sentence.replace(/:$/, '.').replace(/：$/, '。')
}

function sitePathOf(path: string): string {
  if (path in homes) return 'index.md'
  // Next to the home page, the index of the documentation stays in docs/.
  const inDocs = path.replace(chineseFolder, 'docs/').replace(/^docs\/(?!README)/, '')
  return inDocs
    .replace(/README\.md$/, 'index.md')
    .replace(/^[A-Z]+\.md$/, (name) => `project/${name.toLowerCase()}`)
}

function readPage(path: string): Page {
  const text = readFileSync(join(root, path), 'utf8')
  return {
    path,
    language: homes[path] ?? (path.startsWith(chineseFolder) ? 'zh' : 'en'),
    sitePath: sitePathOf(path),
    text,
    title: withoutMarkup(/^# (.+)$/m.exec(text)?.[1] ?? path),
    summary: summaryOf(text),
  }
}

export function readPages(): Page[] {
  return globSync(['*.md', 'docs/**/*.md'], { cwd: root }).toSorted().map(readPage)
}

export function isHome({ path }: Page): boolean {
  return path in homes
}

/** The sections of one language, each with its index first, then by title; decisions by number. */
export function groupPages(pages: readonly Page[], language: Language): Section[] {
  const rank = ({ path, title }: Page): string => {
    if (path.startsWith('docs/decisions/')) return path
    return path.endsWith('/README.md') ? '' : title.toLowerCase()
  }
  const grouped = Map.groupBy(
    pages.filter((page) => page.language === language && !isHome(page)),
    ({ path }) => sections.find(({ pattern }) => pattern.test(path.replace(chineseFolder, 'docs/'))),
  )
  return sections.flatMap((section) => {
    const found = grouped.get(section)?.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1))
    return found === undefined ? [] : [{ name: section.en, title: section[language], pages: found }]
  })
}
