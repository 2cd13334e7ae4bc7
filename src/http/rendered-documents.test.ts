import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { RenderedDocument, RenderedDocuments } from './rendered-documents.ts'

describe('RenderedDocument', () => {
  const text = '{"状态":"正常"}'.repeat(100)

  test('encode – compresses if the client accepts it', async () => {
    const document = new RenderedDocument(text)
    for (const accepted of [null, undefined, '', 'br', 'gzip;q=0']) {
      const { bytes, headers } = await document.encode(accepted)
      assert.deepEqual([bytes.toString(), headers], [text, {}])
    }
    const { bytes, headers } = await document.encode('br, gzip')
    assert.deepEqual([gunzipSync(bytes).toString(), headers], [text, { 'content-encoding': 'gzip' }])
    assert.ok(bytes.length < 200)
  })

  test('encode – compresses once', async () => {
    const document = new RenderedDocument(text)
    const [first, second] = await Promise.all([document.encode('gzip'), document.encode('gzip, br')])
    assert.equal(first.bytes, second.bytes)
    assert.equal((await document.encode('gzip')).bytes, first.bytes)
  })
})

describe('RenderedDocuments', () => {
  test('get – renders once for each snapshot and name', () => {
    const documents = new RenderedDocuments()
    const rendered: string[] = []
    const get = (snapshot: object, name: string): RenderedDocument =>
      documents.get(snapshot, name, () => {
        rendered.push(name)
        return name
      })
    const snapshot = {}
    assert.equal(get(snapshot, 'page'), get(snapshot, 'page'))
    get(snapshot, 'feed')
    get(snapshot, 'page')
    assert.deepEqual(rendered, ['page', 'feed'])
    get({}, 'page')
    assert.deepEqual(rendered, ['page', 'feed', 'page'])
  })
})
