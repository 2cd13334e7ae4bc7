import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { escapeInvalidText, isValidText, toBoundedText, toValidText } from './valid-text.ts'

describe('valid text', () => {
  const invalid = [
    ['half \ud83d', 'half \ufffd', String.raw`half \ud83d`],
    ['\ude00\ud83d', '\ufffd\ufffd', String.raw`\ude00\ud83d`],
    ['zero \0 byte', 'zero \ufffd byte', String.raw`zero \u0000 byte`],
  ] as const

  test('lone surrogates and U+0000 – are invalid, replaced by U+FFFD, and shown as escapes', () => {
    for (const [text, replaced, shown] of invalid) {
      assert.equal(isValidText(text), false)
      assert.equal(toValidText(text), replaced)
      assert.equal(escapeInvalidText(text), shown)
    }
    for (const text of ['', 'plain', '谢谢 😀', 'line\nbreak "quoted"', '\ufffd']) {
      assert.equal(isValidText(text), true)
      assert.equal(toValidText(text), text)
      assert.equal(escapeInvalidText(text), text)
    }
  })

  test('bounded text – is cut between characters', () => {
    assert.equal(toBoundedText('a😀b', 4), 'a😀b')
    assert.equal(toBoundedText('a😀b', 3), 'a😀')
    assert.equal(toBoundedText('a😀b', 2), 'a')
    assert.equal(toBoundedText('\ud83d\0', 9), '\ufffd\ufffd')
  })
})
