/** The pages that `npm run docs` writes from the code and from other pages. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { apiError, type ApiErrorCode } from '../../src/errors.ts'
import { generatedPages } from '../../site/generated-pages.ts'
import { readPages } from '../../site/pages.ts'
import { readSnapshot } from '../support/interface-snapshot.ts'
import { readText, root } from '../support/source-files.ts'

describe('Generated pages', () => {
  for (const [path, render] of Object.entries(generatedPages)) {
    test(`The page ${path} equals what it is generated from`, () => {
      assert.ok(
        existsSync(join(root, path)) && readText(path) === render(),
        `Run \`npm run docs\` and commit ${path}`,
      )
    })
  }

  test('The page docs/errors.md has a heading for every error code, with its status', () => {
    const codes = Object.keys(readSnapshot('errors')['codes'] ?? {})
    const page = readText('docs/errors.md')
    const headings = Array.from(page.matchAll(/^### (\w+)\n\nStatus (\d+)/gm), ([, code, status]) => [
      code,
      Number(status),
    ])
    const expected = codes.map((code) => [code, apiError(code as ApiErrorCode).status])
    assert.deepEqual(Object.fromEntries(headings), Object.fromEntries(expected))
    assert.equal(headings.length, expected.length)
  })

  test('Every page of the site has an address of its own', () => {
    const addresses = readPages().map(({ language, sitePath }) => `${language}/${sitePath}`)
    const twice = addresses.filter((address, index) => addresses.indexOf(address) !== index)
    assert.deepEqual(twice, [])
  })

  test('The file llms.txt has a title, a summary, and a link to every page but the home pages', () => {
    const text = readText('llms.txt')
    assert.match(text, /^# Sluice\n\n> \S.*\n\n## /)
    const links = Array.from(text.matchAll(/^- \[[^\n]+\]\((\S+?)\)(?:: \S.*)?$/gm), ([, link = '']) => link)
    const pages = readPages().map(({ path }) => path)
    assert.deepEqual(links.toSorted(), pages.filter((path) => path !== 'README.md').toSorted())
  })
})
