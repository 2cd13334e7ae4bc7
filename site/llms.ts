/** llms.txt, which lists the documentation for language models (https://llmstxt.org), and llms-full.txt. */
import { groupPages, isHome, type Page, type Section } from './pages.ts'

function renderSection(title: string, lines: readonly string[]): string {
  return `## ${title}\n\n${lines.join('\n')}\n`
}

/**
 * `linkTo`: the address of a page's Markdown. What a reader may leave out, the decisions, is the optional section, with
 * titles only.
 */
export function renderLlms(pages: readonly Page[], linkTo: (page: Page) => string): string {
  const home = pages.find((page) => isHome(page) && page.language === 'en')
  const isDecisions = ({ name }: Section): boolean => name === 'Decisions'
  const lineOf = (page: Page): string => `- [${page.title}](${linkTo(page)})`
  const lineWithSummary = (page: Page): string =>
    lineOf(page) + (page.summary === '' ? '' : `: ${page.summary}`)
  const english = groupPages(pages, 'en')
  const chinese = pages.filter(({ language }) => language === 'zh')
  return [
    `# ${home?.title ?? 'Sluice'}\n\n> ${home?.summary ?? ''}\n`,
    ...english
      .filter((section) => !isDecisions(section))
      .map(({ title, pages: listed }) => renderSection(title, listed.map(lineWithSummary))),
    renderSection('简体中文', chinese.map(lineWithSummary)),
    renderSection('Optional', english.find(isDecisions)?.pages.map(lineOf) ?? []),
  ].join('\n')
}

/** All English pages but the decisions, one after the other. */
export function renderLlmsFull(pages: readonly Page[]): string {
  const home = pages.filter((page) => isHome(page) && page.language === 'en')
  const listed = groupPages(pages, 'en').filter(({ name }) => name !== 'Decisions')
  return [...home, ...listed.flatMap((section) => section.pages)].map(({ text }) => text).join('\n')
}
