import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../errors.ts'
import type { PdfContent } from './pdf-content.ts'
import { maxRenderMs, PdfRenderer } from './render-pdf.ts'

const brand = { name: null, logo: null, support: null }
const empty: PdfContent = {
  language: 'en',
  brand,
  title: '',
  lead: null,
  facts: [],
  tables: [],
  pageNumber: '',
}
const hangingThread = new URL('./hanging-thread.fixture.ts', import.meta.url)

describe('PdfRenderer', () => {
  test('Documents – are rendered in a thread, one after the other', async () => {
    const renderer = new PdfRenderer()
    for (const file of await Promise.all(['a', 'b'].map((account) => renderer.render(account, empty))))
      assert.equal(Buffer.from(file.subarray(0, 5)).toString('latin1'), '%PDF-')
  })

  test('Document that hangs – is ended with an error, and the next one is rendered', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const renderer = new PdfRenderer(hangingThread)
    const hanging = renderer.render('a', { ...empty, title: 'hangs' })
    const next = renderer.render('a', empty)
    t.mock.timers.tick(maxRenderMs)
    await assert.rejects(hanging, { code: 'service_unavailable', message: /took too long/ })
    await next
  })

  test('Account with many documents – is rejected and delays another one by one of them', async () => {
    const renderer = new PdfRenderer(hangingThread)
    const rendered: string[] = []
    const render = async (title: string): Promise<void> => {
      await renderer.render(title.slice(0, 1), { ...empty, title })
      rendered.push(title)
    }
    const accepted = ['a1', 'a2', 'a3', 'a4'].map(render)
    await assert.rejects(render('a5'), (error) => {
      assert.ok(error instanceof ApiError && error.detail.retryAfterMs === 5000)
      return error.status === 429
    })
    await Promise.all([...accepted, render('b1')])
    assert.deepEqual(rendered, ['a1', 'a2', 'b1', 'a3', 'a4'])
  })
})
