import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import fc from 'fast-check'
import { maxDepth } from './json/json-cursor.ts'
import { maxMembers, scanObject } from './json/json-scanner.ts'

const scan = (text: string) => scanObject(Buffer.from(text))

function parsed(bytes: Buffer): { value: unknown } | undefined {
  try {
    return isUtf8(bytes) ? { value: JSON.parse(bytes.toString()) } : undefined
  } catch {
    return undefined
  }
}

/** The law between the scanner and JSON.parse; tells the scan's kind. */
function assertAgrees(bytes: Buffer): string {
  const found = scanObject(bytes)
  const full = parsed(bytes)
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

test('the ranges of the outermost members hold their values, whatever lies inside them', () => {
  const text = ' {"a" : 1 ,"b":"x\\"}\\\\", "c":[{"a":[]},{}] ,"d":{"e":{}},"f":null,"g":-1.5e+3}\n'
  const found = scan(text)
  assert.equal(found.kind, 'object')
  assert.deepEqual(found.kind === 'object' && found.members.map(({ start, end }) => text.slice(start, end)), [
    '1',
    '"x\\"}\\\\"',
    '[{"a":[]},{}]',
    '{"e":{}}',
    'null',
    '-1.5e+3',
  ])
})

test('what two readers could understand differently is uncertain', () => {
  const why = (text: string) => {
    const found = scan(text)
    return found.kind === 'uncertain' && [found.why, found.members?.map((member) => member.key)]
  }
  assert.deepEqual(why('{"model":"a","x":0,"model":"b"}'), ['duplicate key', ['model', 'x', 'model']])
  assert.deepEqual(why('{"m\\u006fdel":"a","model":"b"}'), ['escape in a key', ['model', 'model']])
  assert.deepEqual(why('\ufeff{}'), ['byte order mark', undefined])
  assert.equal(scan('{"a":0,"a":1').kind, 'invalid')
})

test('depth and the number of members are bounded', () => {
  const nested = (depth: number) => `{"a":${'['.repeat(depth)}1${']'.repeat(depth)}}`
  assert.equal(scan(nested(maxDepth)).kind, 'object')
  assert.deepEqual(scan(nested(maxDepth + 1)), { kind: 'uncertain', why: 'too deep' })
  assert.deepEqual(scan(`{"a":${'['.repeat(1_000_000)}`), { kind: 'uncertain', why: 'too deep' })
  const wide = (members: number) => `{${Array.from({ length: members }, (_, i) => `"${i}":0`).join()}}`
  assert.equal(scan(wide(maxMembers)).kind, 'object')
  assert.deepEqual(scan(wide(maxMembers + 1)), { kind: 'uncertain', why: 'too many members' })
})

test('every slip from the grammar is seen, also deep inside', () => {
  const slips = ['', ' ', '{', '}', '{}}', '{} x', '{"a"}', '{"a":}', '{"a":1,}', '{,}', '{a:1}', "{'a':1}"]
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
  for (const text of [...slips, ...[...values, ...more].map((value) => `{"k":[{"v":${value}}]}`)]) {
    assert.equal(scan(text).kind, 'invalid', text)
    assert.equal(assertAgrees(Buffer.from(text)), 'invalid')
  }
  assert.deepEqual(scan('{"a":1 "b":2}'), { kind: 'invalid', at: 7 })
  assert.equal(scanObject(Buffer.from('{"a":"\xff"}', 'latin1')).kind, 'invalid')
})

test('a valid text that is no object is told apart from an invalid one', () => {
  for (const text of ['[]', 'null', '1', '"{}"', ' [{"a":1}] ']) assert.equal(scan(text).kind, 'other')
  assert.equal(scan('[1').kind, 'invalid')
})

test('a visitor may consume a value, and the scan goes on behind it', () => {
  const seen: string[] = []
  const visit = (key: string, cursor: { skipValue(): void }) => {
    seen.push(key)
    if (key === 'b') cursor.skipValue()
  }
  const found = scanObject(Buffer.from('{"a":[1],"b":{"c":2},"d":3}'), { visit })
  assert.deepEqual(seen, ['a', 'b', 'd'])
  assert.equal(found.kind === 'object' && found.members.length, 3)
})

test('a string is read rightly at every alignment of its bytes', () => {
  const text = Buffer.from('{"key":"a\\"b\\\\","é":"中文\\u4e2d😀","long":"' + 'x'.repeat(37) + '\\n"}')
  for (let offset = 0; offset < 9; offset++) {
    for (let pad = 0; pad < 9; pad++) {
      const buffer = Buffer.alloc(offset + text.length + pad, '"')
      text.copy(buffer, offset)
      assert.equal(assertAgrees(buffer.subarray(offset, offset + text.length)), 'object')
    }
  }
})

test('every byte is judged like JSON.parse does, wherever in a long string it stands', () => {
  for (let at = 0; at < 16; at++) {
    for (let byte = 0; byte < 128; byte++) {
      const text = Buffer.from(`{"k":"${'a'.repeat(24)}"}`)
      text[6 + at] = byte
      text[7 + at] = byte % 2 ? 0x20 : 0x6e
      assertAgrees(text)
    }
  }
})

test('the scanner and JSON.parse agree on any value and on any damage to it', () => {
  let objects = 0
  const texts = fc.oneof(
    fc.json({ maxDepth: 4 }),
    fc
      .dictionary(fc.string({ unit: 'binary', maxLength: 6 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 6 })
      .map((value) => JSON.stringify(value, null, Object.keys(value).length % 3)),
  )
  const damages = fc.array(
    fc.tuple(
      fc.nat(),
      fc.oneof(fc.constantFrom(...Buffer.from('{}[]",:\\u0e-.+ \n')), fc.integer({ min: 0, max: 255 })),
    ),
    { maxLength: 3 },
  )
  const law = fc.property(texts, damages, (text, changes) => {
    const bytes = Buffer.from(text)
    for (const [at, byte] of changes) {
      bytes[at % bytes.length] = byte
    }
    if (assertAgrees(bytes) === 'object') objects++
    const cut = (changes[0]?.[0] ?? 0) % (bytes.length + 1)
    assertAgrees(bytes.subarray(0, cut))
  })
  fc.assert(law, { numRuns: 4000 })
  assert.ok(objects > 400, `only ${objects} objects`)
})
