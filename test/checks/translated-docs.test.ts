/** The Chinese pages have the code and the tested versions of the English ones, which are tested. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { describe, test } from 'node:test'
import { readText, root } from '../support/source-files.ts'

const folder = 'docs/zh-cn/'
const names = globSync('{goals,clients}/*.md', { cwd: `${root}/${folder}` }).toSorted()

const codeOf = (text: string): string[] =>
  Array.from(text.matchAll(/^( *)```.*?^\1```$/gms), ([block]) => block)
/** The versions that were tested, and the date of a check. */
const versionsOf = (text: string): string[] =>
  Array.from(
    text.matchAll(/`[@\w/-]+` \d+\.[\d.]*\d|(?<=^Checked against .* on |^已于 )[\d-]+/gm),
    ([version]) => version,
  )

describe('Translated documentation', () => {
  for (const name of names) {
    test(`${name} – has the code and the versions of the English page`, () => {
      const [translation, original] = [readText(folder + name), readText(`docs/${name}`)]
      assert.deepEqual(codeOf(translation), codeOf(original))
      assert.deepEqual(versionsOf(translation), versionsOf(original))
    })
  }

  test('Pages by goal – are all translated', () => {
    const original = globSync('goals/*.md', { cwd: `${root}/docs` }).toSorted()
    assert.deepEqual(
      names.filter((name) => name.startsWith('goals/')),
      original,
    )
  })

  test('Indexes – list every page', () => {
    const missing = (index: string, pages: string[]): string[] =>
      pages.filter((page) => !readText(index).includes(`](${page})`))
    assert.deepEqual(missing(`${folder}README.md`, names), [])
    const goals = names.filter((name) => name.startsWith('goals/'))
    assert.deepEqual(missing('docs/README.md', goals), [])
  })
})
