import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Hono } from 'hono'
import { csvResponse, type CsvCell } from './csv.ts'

async function encode(...cells: CsvCell[]): Promise<string> {
  async function* pages(): AsyncGenerator<CsvCell[][], void> {
    yield [cells]
  }
  const app = new Hono().get('/', (c) =>
    csvResponse(c, 'cells', { head: ['a'], pages: pages(), hasByteOrderMark: false }),
  )
  const text = await (await app.request('/')).text()
  return text.slice('a\r\n'.length, -'\r\n'.length)
}

describe('csvResponse', () => {
  test('text, numbers and empty cells – are encoded as in RFC 4180', async () => {
    assert.equal(
      await encode('plain text', 'a,b', 'say "x"', null, 5, true),
      'plain text,"a,b","say ""x""",,5,true',
    )
    assert.equal(await encode('-0.25', '12', 'b;c', 'two\nlines'), '-0.25,12,"b;c","two\nlines"')
  })

  test('a formula – is neutralised at the start of a cell, also with full-width signs', async () => {
    for (const start of ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'])
      assert.equal(await encode(`${start}1+1`), `"'${start}1+1"`, JSON.stringify(start))
    assert.equal(await encode(' =1', '"=1', '-1+1'), `"' =1","'""=1","'-1+1"`)
  })

  test('a formula – is neutralised after anything that a program may read as a separator', async () => {
    for (const separator of [',', ';', '|', '\t', '\n', '\r\n'])
      for (const formula of ['=1+1', '＝1+1', ' =1', '"=1'])
        assert.equal(
          await encode(`x${separator}${formula}`),
          `"x${separator}'${formula.replace('"', '""')}"`,
          JSON.stringify(separator + formula),
        )
    assert.equal(await encode('a-b@c.d=e+f'), 'a-b@c.d=e+f')
  })

  test('a page that cannot be read – aborts the file instead of ending it early', async () => {
    async function* pages(): AsyncGenerator<CsvCell[][], void> {
      yield [['first']]
      throw new Error('The database is gone.')
    }
    const app = new Hono().get('/', (c) =>
      csvResponse(c, 'cells', { head: ['a'], pages: pages(), hasByteOrderMark: false }),
    )
    await assert.rejects(async () => (await app.request('/')).text(), /The database is gone/)
  })
})
