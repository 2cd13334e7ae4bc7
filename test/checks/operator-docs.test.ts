/** The pages for operators name only what exists. */
import assert from 'node:assert/strict'
import { existsSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { version } from '../../src/lib/version.ts'
import { assertSettings } from '../support/deploy/setting-names.ts'
import { readSnapshot } from '../support/interface-snapshot.ts'
import { readText, root } from '../support/source-files.ts'

/** Variables of clients and tests. */
const otherVariables = new Set(['SLUICE_KEY', 'RECORDINGS_DIR'])

describe('Operator documentation', () => {
  test('Pages name only existing settings and commands, and link only to what exists', () => {
    const groups = [...readText('src/main.ts').matchAll(/^ {2}'?([\w-]+)'?: \(\) => import\(/gm)].map(
      ([, name]) => name,
    )
    const pages = [
      'README.md',
      'README.zh-CN.md',
      ...globSync('docs/{,zh-cn/}{*,operations/*,goals/*}.md', { cwd: root }),
    ]
    for (const page of pages) {
      const content = readText(page)
      const variables = [
        ...content.matchAll(/`([A-Z]+(?:_[A-Z]+)+)(?:=[^`]*)?`/g),
        ...content.matchAll(/(?:^|[ ;(])([A-Z]+(?:_[A-Z]+)+)=/gm),
      ].map(([, name]) => name ?? '')
      assertSettings(
        variables.filter((name) => !/^(ANTHROPIC|OPENAI)_/.test(name) && !otherVariables.has(name)),
        page,
      )
      for (const [, command] of content.matchAll(/(?:^|npx |`|exec \w+ )sluice (\w+(?:-\w+)*)/gm))
        assert.ok(groups.includes(command), `${page}: sluice ${command}`)
      for (const [, link = ''] of content.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
        assert.ok(existsSync(join(root, dirname(page), link)), `${page}: ${link}`)
    }
  })

  test('The page about installation names the packages and images of this release', () => {
    const named = [
      ...readText('docs/operations/installation.md').matchAll(/\bsluice(?:-chart)?[-:](\d[\d.]*\d)/g),
    ]
    assert.ok(named.length > 10)
    assert.deepEqual([...new Set(named.map(([, each]) => each))], [version])
  })

  test('Pages by goal name screens and buttons as the console does', () => {
    const languages = [
      { pages: 'docs/goals/*.md', locale: 'en', name: /(?<!\*)\*([A-Z][^*\n]+)\*(?!\*)/g },
      { pages: 'docs/zh-cn/goals/*.md', locale: 'zh-cn', name: /“([^”]+)”/g },
    ]
    for (const { pages, locale, name } of languages) {
      const texts = globSync(`console/locales/${locale}/*.ts`, { cwd: root }).map(readText).join('\n')
      for (const page of globSync(pages, { cwd: root })) {
        const prose = readText(page).replaceAll(/```.*?```/gs, '')
        const named = [...prose.matchAll(name)].flatMap(([, path = '']) => path.split(' → '))
        assert.ok(named.length > 3, page)
        const unknown = named.filter((text) => !texts.includes(`'${text}'`))
        assert.deepEqual(unknown, [], page)
      }
    }
  })

  test('Pages name only existing metrics', () => {
    const names = readSnapshot('metrics')['names'] as readonly string[]
    const pages = globSync('docs/{*,operations/*}.md', { cwd: root })
    const named = pages.flatMap((page) => [...readText(page).matchAll(/\bsluice_\w+/g)].map(([name]) => name))
    assert.ok(named.length > 20)
    const unknown = named.filter((name) => !names.includes(name.replace(/_(?:bucket|count|sum)$/, '')))
    assert.deepEqual(unknown, [])
  })
})
