// @suite all – builds the documentation's site
/** The site that `npm run docs:site` builds: every page, every link, the search. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'

import { readPages } from '../../site/pages.ts'
import { assertNone, readText, root } from '../support/source-files.ts'

const base = '/sluice/'
const skip = existsSync(join(root, 'site/node_modules'))
  ? false
  : 'not installed (.ci/run installs it in site/)'

describe('Documentation site', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-docs-site-'))
  const read = (path: string): string => readFileSync(join(folder, path), 'utf8')
  /** The file that a host serves at a path. */
  const fileAt = (path: string): string => {
    assert.ok(path.startsWith(base), path)
    const file = path.slice(base.length) + (path.endsWith('/') ? 'index.html' : '')
    return existsSync(join(folder, file)) && statSync(join(folder, file)).isFile() ? file : `${file}.html`
  }
  const html = (): string[] => globSync('**/*.html', { cwd: folder }).filter((path) => path !== '404.html')

  before(async () => {
    // A proxy that nobody listens on: the build needs no network.
    const proxy = 'http://127.0.0.1:1'
    const env = {
      ...process.env,
      HTTP_PROXY: proxy,
      HTTPS_PROXY: proxy,
      http_proxy: proxy,
      https_proxy: proxy,
    }
    const args = ['--no-warnings', 'site/build.ts', '--output', folder, '--base', base]
    await promisify(execFile)(process.execPath, args, { cwd: root, env, maxBuffer: 1 << 26 })
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  test('Pages – each page of the documentation is there, with its title, and as Markdown', () => {
    for (const { path, language, sitePath, title, text } of readPages()) {
      const place = language === 'en' ? sitePath : `${language}/${sitePath}`
      const page = read(place.replace(/md$/, 'html'))
      const heading = /<h1[^>]*>(.*?)<\/h1>/s.exec(page)?.[1]?.replaceAll(/<a .*?<\/a>|<[^>]+>/gs, '')
      assert.equal(
        heading?.replaceAll('&#x27;', "'").replaceAll('`', '').trim(),
        title.replaceAll('`', ''),
        path,
      )
      assert.equal(read(place), text, path)
    }
  })

  test('Links – lead to pages and headings of the site, and nothing loads from elsewhere', () => {
    const texts = new Map(html().map((path) => [path, read(path)]))
    const anchors = new Map<string, ReadonlySet<string | undefined>>()
    for (const [path, text] of texts)
      anchors.set(path, new Set(Array.from(text.matchAll(/ id="([^"]+)"/g), ([, id]) => id)))
    let count = 0
    const broken = [...texts].flatMap(([path, text]) =>
      Array.from(text.matchAll(/ (?:href|src)="(?!https?:|mailto:|data:)([^"#]*)(?:#([^"]*))?"/g))
        .filter(([, link = '', anchor]) => {
          count += 1
          const target = link === '' ? path : fileAt(link)
          const isThere = existsSync(join(folder, target))
          return (
            !isThere ||
            (anchor !== undefined && anchors.get(target)?.has(decodeURIComponent(anchor)) === false)
          )
        })
        .map(([link]) => `${path}: ${link}`),
    )
    assert.ok(count > 1000, `${count} links`)
    assertNone(broken, 'Correct the link, or how site/stage.ts rewrites it:')
    const loaded = [...texts].flatMap(([path, text]) =>
      Array.from(
        text.matchAll(/<(?:script|link|img)[^>]* (?:src|href)="https?:[^"]*"/g),
        ([tag]) => `${path}: ${tag}`,
      ),
    )
    assertNone(loaded, 'Serve it with the site:')
  })

  test('Search – each language has an index, the Chinese one also with English pages', () => {
    const [english = '', chinese = ''] = ['en', 'zh'].map((language) =>
      globSync(`static/search_index.${language}.*.json`, { cwd: folder }).map(read).join(''),
    )
    for (const phrase of ['held money is reserved for that request alone', 'idempotency_conflict'])
      assert.ok(english.includes(phrase) && chinese.includes(phrase), phrase)
    assert.ok(chinese.includes('余额') && !english.includes('余额'))
  })

  test('Language models – llms.txt links the Markdown of the site, llms-full.txt has it', () => {
    const links = Array.from(read('llms.txt').matchAll(/^- \[[^\n]+\]\((\S+?)\)/gm), ([, link = '']) => link)
    assert.ok(links.length > 50)
    for (const link of links)
      assert.ok(link.endsWith('.md') && existsSync(join(folder, link.slice(base.length))), link)
    const full = read('llms-full.txt')
    for (const path of ['README.md', 'docs/api.md', 'docs/operations/installation.md'])
      assert.ok(full.includes(readText(path)), path)
  })
})
