import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { createPng } from '../../lib/image-files.fixture.ts'
import type { PdfContent } from './pdf-content.ts'
import { drawPdf } from './draw-pdf.ts'

const skip =
  spawnSync('pdftoppm', ['-v']).error === undefined
    ? false
    : 'pdftoppm is not installed (apt-get install poppler-utils).'

const empty: PdfContent = {
  language: 'zh-CN',
  brand: { name: null, logo: null, support: null },
  title: '',
  lead: null,
  facts: [],
  tables: [],
  pageNumber: '',
}

/** The dark pixels of the first page, and the number of pages. */
async function inkOf(t: TestContext, content: PdfContent): Promise<{ ink: number; pages: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pdf-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'document.pdf')
  writeFileSync(path, await drawPdf(content))
  execFileSync('pdftoppm', ['-r', '72', '-gray', '-l', '1', '-singlefile', path, join(folder, 'page')])
  const image = readFileSync(join(folder, 'page.pgm'))
  const pages = Number(/Pages:\s+(\d+)/.exec(execFileSync('pdfinfo', [path], { encoding: 'utf8' }))?.[1])
  const header = /^P5\s+(\d+)\s+(\d+)\s+255\s/.exec(image.subarray(0, 40).toString('latin1'))
  assert.ok(header)
  return { ink: image.subarray(header[0].length).filter((pixel) => pixel < 128).length, pages }
}

describe('PDF', () => {
  test('Chinese characters – are drawn, each of them', { skip }, async (t) => {
    const { ink: none } = await inkOf(t, empty)
    assert.equal(none, 0)
    let before = 0
    for (const text of ['账', '账单', '账单发', '账单发票', '账单发票龘']) {
      const { ink } = await inkOf(t, { ...empty, title: text })
      assert.ok(ink > before + 10, `${text}: ${ink} after ${before}`)
      before = ink
    }
  })

  test('Long table – continues on further pages, with its header', { skip }, async (t) => {
    const columns = [
      { header: '时间', share: 0.5 },
      { header: '金额', share: 0.5, isNumeric: true },
    ]
    const rows = Array.from({ length: 200 }, (_, index) => [`第 ${index} 行`, '1.00 CNY'])
    const { pages } = await inkOf(t, { ...empty, tables: [{ title: '明细', columns, rows }] })
    assert.ok(pages >= 3 && pages <= 8, `${pages} pages`)
  })

  test('Logo and support – are on the page', { skip }, async (t) => {
    const plain = await inkOf(t, empty)
    const logo = createPng({ width: 40, height: 40, color: [0, 0, 0] })
    const branded = await inkOf(t, { ...empty, brand: { name: '示例', logo, support: 'help@example.com' } })
    assert.ok(branded.ink > plain.ink + 500)
    assert.equal(branded.pages, 1)
  })
})
