import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { maxDepth } from './json-cursor.ts'
import { maxObjectMembers, scanJsonObject } from './json-scanner.ts'

const scan = (text: string) => scanJsonObject(Buffer.from(text))

function tryParse(bytes: Buffer): { value: unknown } | undefined {
  try {
    return isUtf8(bytes) ? { value: JSON.parse(bytes.toString()) } : undefined
  } catch {
    return undefined
  }
}

/** Asserts that the scanner agrees with JSON.parse, and returns the kind of the result. */
function assertAgrees(bytes: Buffer): string {
  const found = scanJsonObject(bytes)
  const full = tryParse(bytes)
  if (found.kind === 'invalid') assert.equal(full, undefined, `JSON.parse accepts ${bytes.toString()}`)
  if (found.kind === 'other') assert.ok(full && (typeof full.value !== 'object' || !isRecord(full.value)))
  if (found.kind === 'object') {
    assert.ok(full && isRecord(full.value), `JSON.parse refuses ${bytes.toString()}`)
    const entries = found.members.map(({ key, start, end }) => {
      return [key, JSON.parse(bytes.toString('utf8', start, end))] as const
    })
    assert.deepEqual(Object.fromEntries(entries), full.value)
    assert.equal(entries.length, Object.keys(full.value).length)
    for (const { key, keyStart } of found.members) {
      assert.equal(bytes.toString('utf8', keyStart).startsWith(`"${key}"`), true)
    }
  }
  return found.kind
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

describe('scanJsonObject', () => {
  test('ranges – contain the values of the outermost members', () => {
    const text = ' {"a" : 1 ,"b":"x\\"}\\\\", "c":[{"a":[]},{}] ,"d":{"e":{}},"f":null,"g":-1.5e+3}\n'
    const found = scan(text)
    assert.equal(found.kind, 'object')
    assert.deepEqual(
      found.kind === 'object' && found.members.map(({ start, end }) => text.slice(start, end)),
      ['1', '"x\\"}\\\\"', '[{"a":[]},{}]', '{"e":{}}', 'null', '-1.5e+3'],
    )
  })

  test('uncertain – reports text that parsers may read differently', () => {
    const why = (text: string) => {
      const found = scan(text)
      return found.kind === 'uncertain' && [found.why, found.members?.map((member) => member.key)]
    }
    assert.deepEqual(why('{"model":"a","x":0,"model":"b"}'), ['duplicate key', ['model', 'x', 'model']])
    assert.deepEqual(why('{"m\\u006fdel":"a","model":"b"}'), ['escape in a key', ['model', 'model']])
    assert.deepEqual(why('\ufeff{}'), ['byte order mark', undefined])
    assert.equal(scan('{"a":0,"a":1').kind, 'invalid')
  })

  test('bounds – limit depth and number of members', () => {
    const nested = (depth: number) => `{"a":${'['.repeat(depth)}1${']'.repeat(depth)}}`
    assert.equal(scan(nested(maxDepth)).kind, 'object')
    assert.deepEqual(scan(nested(maxDepth + 1)), { kind: 'uncertain', why: 'too deep' })
    assert.deepEqual(scan(`{"a":${'['.repeat(1_000_000)}`), { kind: 'uncertain', why: 'too deep' })
    const wide = (members: number) => `{${Array.from({ length: members }, (_, i) => `"${i}":0`).join()}}`
    assert.equal(scan(wide(maxObjectMembers)).kind, 'object')
    assert.deepEqual(scan(wide(maxObjectMembers + 1)), { kind: 'uncertain', why: 'too many members' })
  })

  test('invalid – detects every grammar error, also nested', () => {
    const invalidTexts = [
      '',
      ' ',
      '{',
      '}',
      '{}}',
      '{} x',
      '{"a"}',
      '{"a":}',
      '{"a":1,}',
      '{,}',
      '{a:1}',
      "{'a':1}",
    ]
    const values = [
      '01',
      '1.',
      '.5',
      '-',
      '+1',
      '1e',
      '1e+',
      '0x1',
      'NaN',
      'tru',
      'nulll',
      'True',
      '[1,]',
      '[,]',
    ]
    const more = [
      '[1 2]',
      '[',
      ']',
      '[1}',
      '{"b":1]',
      '"',
      '"\\"',
      '"\\x"',
      '"\\u12g4"',
      '"\\u12',
      '"\t"',
      '"\n"',
    ]
    for (const text of [...invalidTexts, ...[...values, ...more].map((value) => `{"k":[{"v":${value}}]}`)]) {
      assert.equal(scan(text).kind, 'invalid', text)
      assert.equal(assertAgrees(Buffer.from(text)), 'invalid')
    }
    assert.deepEqual(scan('{"a":1 "b":2}'), { kind: 'invalid', at: 7 })
    assert.equal(scanJsonObject(Buffer.from('{"a":"\xff"}', 'latin1')).kind, 'invalid')
  })

  test('other – distinguishes valid text that is not an object from invalid text', () => {
    for (const text of ['[]', 'null', '1', '"{}"', ' [{"a":1}] ']) assert.equal(scan(text).kind, 'other')
    assert.equal(scan('[1').kind, 'invalid')
  })

  test('visitor – may consume a value, and the scan continues after it', () => {
    const seen: string[] = []
    const visit = (key: string, cursor: { skipValue(): void }) => {
      seen.push(key)
      if (key === 'b') cursor.skipValue()
    }
    const found = scanJsonObject(Buffer.from('{"a":[1],"b":{"c":2},"d":3}'), { visit })
    assert.deepEqual(seen, ['a', 'b', 'd'])
    assert.equal(found.kind === 'object' && found.members.length, 3)
  })

  test('strings – are read correctly at every alignment', () => {
    const text = Buffer.from('{"key":"a\\"b\\\\","é":"中文\\u4e2d😀","long":"' + 'x'.repeat(37) + '\\n"}')
    for (let offset = 0; offset < 9; offset++) {
      for (let pad = 0; pad < 9; pad++) {
        const buffer = Buffer.alloc(offset + text.length + pad, '"')
        text.copy(buffer, offset)
        assert.equal(assertAgrees(buffer.subarray(offset, offset + text.length)), 'object')
      }
    }
  })

  test('bytes – are accepted and rejected as by JSON.parse at every position of a string', () => {
    for (let at = 0; at < 16; at++) {
      for (let byte = 0; byte < 128; byte++) {
        const text = Buffer.from(`{"k":"${'a'.repeat(24)}"}`)
        text[6 + at] = byte
        text[7 + at] = byte % 2 ? 0x20 : 0x6e
        assertAgrees(text)
      }
    }
  })

  test('property – agrees with JSON.parse on any value and any damage to it', () => {
    let objects = 0
    const texts = fc.oneof(
      fc.json({ maxDepth: 4 }),
      fc
        .dictionary(fc.string({ unit: 'binary', maxLength: 6 }), fc.jsonValue({ maxDepth: 3 }), {
          maxKeys: 6,
        })
        .map((value) => JSON.stringify(value, null, Object.keys(value).length % 3)),
    )
    const damages = fc.array(
      fc.tuple(
        fc.nat(),
        fc.oneof(fc.constantFrom(...Buffer.from('{}[]",:\\u0e-.+ \n')), fc.integer({ min: 0, max: 255 })),
      ),
      { maxLength: 3 },
    )
    const agreement = fc.property(texts, damages, (text, changes) => {
      const bytes = Buffer.from(text)
      for (const [at, byte] of changes) {
        bytes[at % bytes.length] = byte
      }
      if (assertAgrees(bytes) === 'object') objects++
      const cut = (changes[0]?.[0] ?? 0) % (bytes.length + 1)
      assertAgrees(bytes.subarray(0, cut))
    })
    fc.assert(agreement, { numRuns: 4000 })
    assert.ok(objects > 400, `only ${objects} objects`)
  })
})
