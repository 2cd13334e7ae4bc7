// @backend sqlite – reads only files
/** The pictures of the READMEs show what the product and the stored results of the benchmark are now. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { renderCpuCharts } from '../../bench/cpu-chart.ts'
import { billPicturePaths, hashBillInputs, inputsPath } from '../support/console/bill-picture-inputs.ts'
import { readText, root } from '../support/source-files.ts'

const staleMessage = 'run `npm run pictures`, look at docs/images/ and commit it'
const readmes = [
  { path: 'README.md', language: 'en' },
  { path: 'README.zh-CN.md', language: 'zh-cn' },
]

describe('Pictures of the READMEs', () => {
  test('Bill of a request – its page, texts and prices have not changed since', () => {
    const { bill } = JSON.parse(readText(inputsPath)) as { bill: string }
    assert.equal(bill, hashBillInputs(), staleMessage)
    for (const path of billPicturePaths) assert.ok(existsSync(join(root, path)), `${path}: ${staleMessage}`)
  })

  test('CPU per request – the charts are those of the stored results', () => {
    for (const [path, chart] of renderCpuCharts()) assert.equal(readText(path), chart, staleMessage)
  })

  test('READMEs – show each picture in their language, light and dark', () => {
    const pictures = [...billPicturePaths, ...renderCpuCharts().keys()]
    for (const { path, language } of readmes) {
      const shown = [...readText(path).matchAll(/(?:src|srcset)="(docs\/images\/[^"]+)"/g)].map(
        ([, name = '']) => name,
      )
      const expected = pictures.filter((name) => name.includes(`.${language}.`))
      assert.deepEqual(shown.toSorted(), expected.toSorted(), path)
    }
  })
})
