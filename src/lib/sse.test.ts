import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  encodeEvent,
  EventSplitter,
  EventTooLarge,
  keepAliveComment,
  type ServerEvent,
} from './sse/sse-parser.ts'

interface Seen {
  data: string | undefined
  name: string
  isPlain: boolean
  raw: string
  plain: string
}

function copyOf(event: ServerEvent): Seen {
  assert.equal(event.text, event.data.toString())
  return {
    data: event.hasData ? event.text : undefined,
    name: event.name,
    isPlain: event.isPlain,
    raw: event.raw.toString('latin1'),
    plain: event.plain.toString(),
  }
}

/** Pushes each piece in memory that is overwritten as soon as the call returns. */
function split(pieces: readonly Buffer[], maxEventBytes?: number) {
  const events: Seen[] = []
  const splitter = new EventSplitter((event) => events.push(copyOf(event)), maxEventBytes)
  for (const piece of pieces) {
    const chunk = Buffer.from(piece)
    splitter.push(chunk)
    chunk.fill('\n')
  }
  const left = splitter.end()
  return { events, left: left && copyOf(left) }
}

function cut(stream: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...places.map((place) => place % (stream.length + 1)).toSorted((a, b) => a - b)]
  return sorted.map((from, i) => stream.subarray(from, sorted[i + 1] ?? stream.length))
}

const lines = [
  ': connected',
  '',
  'data: {"id":"1","choices":[{"delta":{"role":"assistant"}}]}',
  '',
  '',
  'data:{"no":"space"}',
  '',
  'event: message_start',
  'id: 7',
  'data: {"中文":"é😀"}',
  'retry: 10',
  '',
  'data:  two spaces',
  'data',
  'data: third: line',
  '',
  'id: only',
  '',
  'data: ',
  '',
  'datas: not data',
  'dat',
  '',
  'data: [DONE]',
  '',
  'data: left over',
]

const payloads = [
  undefined,
  '{"id":"1","choices":[{"delta":{"role":"assistant"}}]}',
  '{"no":"space"}',
  '{"中文":"é😀"}',
  ' two spaces\n\nthird: line',
  undefined,
  '',
  undefined,
  '[DONE]',
]

for (const [label, lineEnd] of [
  ['LF', '\n'],
  ['CR LF', '\r\n'],
  ['CR', '\r'],
] as const) {
  for (const mark of ['', '\ufeff']) {
    test(`${label} lines ${mark ? 'after a byte order mark ' : ''}give the same events at every cut`, () => {
      const stream = Buffer.from(mark + lines.join(lineEnd))
      const whole = split([stream])
      assert.deepEqual(
        whole.events.map((event) => event.data),
        payloads,
      )
      assert.equal(whole.events[3]?.name, 'message_start')
      assert.equal(whole.left?.data, 'left over')
      for (let at = 0; at <= stream.length; at++) assert.deepEqual(split(cut(stream, [at])), whole)
      assert.deepEqual(split(Array.from(stream, (byte) => Buffer.from([byte]))), whole)
    })
  }
}

test('a plain event is told as it arrived, any other can be made plain, and comments never become data', () => {
  const { events } = split([Buffer.from(lines.join('\n'))])
  const plain = events.filter((event) => event.isPlain)
  assert.deepEqual(
    plain.map((event) => event.data),
    [payloads[1], payloads[6], payloads[8]],
  )
  for (const event of plain) assert.equal(event.plain, `data: ${event.data}\n\n`)
  for (const event of plain) assert.equal(event.raw, Buffer.from(event.plain).toString('latin1'))
  assert.equal(events[0]?.plain, '')
  assert.equal(events[3]?.plain, 'data: {"中文":"é😀"}\n\n')
  assert.equal(events[4]?.plain, 'data:  two spaces\ndata: \ndata: third: line\n\n')
  assert.deepEqual(
    split([keepAliveComment]).events.map((event) => event.plain),
    [''],
  )
})

test('plain events of one chunk are views of it, side by side', () => {
  const chunk = Buffer.from('data: {"a":1}\n\ndata: {"b":2}\n\ndata: {"c"')
  const ranges: number[][] = []
  new EventSplitter((event) => {
    assert.equal(event.source, chunk)
    ranges.push([event.start, event.dataStart, event.dataEnd, event.end])
  }).push(chunk)
  assert.deepEqual(ranges, [
    [0, 6, 13, 15],
    [15, 21, 28, 30],
  ])
})

test('an event is told as soon as its blank line begins, also when that ends with CR', () => {
  for (const stream of ['data: x\n\n', 'data: x\r\n\r', 'data: x\r\r', 'data: x\n\r']) {
    assert.equal(split([Buffer.from(stream)]).events.length, 1, JSON.stringify(stream))
    assert.equal(split([Buffer.from(stream)]).left, undefined)
  }
})

test('bytes that are not UTF-8 stay what they are', () => {
  const payload = Buffer.from([0x80, 0xff, 0x20, 0xc3])
  for (const ends of ['\n\n', '\r\n\r\n', '\nid: 1\n\n', '\ndata: \n\n']) {
    const stream = Buffer.concat([Buffer.from('data: '), payload, Buffer.from(ends)])
    let plain = Buffer.alloc(0)
    new EventSplitter((event) => (plain = Buffer.from(event.plain))).push(stream)
    assert.deepEqual(plain.subarray(6, 10), payload)
  }
})

test('random lines, line ends and cuts give the same events as the whole, and as a reader of lines', () => {
  const line = fc.oneof(
    fc.constantFrom(
      '',
      '',
      'data',
      'data:',
      'data: ',
      ':',
      ': ping',
      'event: e',
      'id: 1',
      'retry: 1',
      'x',
      'dat',
    ),
    fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, '')}`),
  )
  const ends = fc.constantFrom('\n', '\n', '\r\n', '\r')
  const law = fc.property(fc.array(fc.tuple(line, ends)), fc.array(fc.nat()), (parts, places) => {
    const stream = Buffer.from(parts.flat().join(''))
    const whole = split([stream])
    assert.deepEqual(split(cut(stream, places)), whole)
    assert.deepEqual(
      whole.events.flatMap((event) => event.data ?? []),
      payloadsByDefinition(stream.toString()),
    )
  })
  fc.assert(law, { numRuns: 1500 })
})

/** The standard's own words, as slowly as it says them. */
function payloadsByDefinition(stream: string): string[] {
  const found: string[] = []
  let data: string[] = []
  for (const line of stream.split(/\r\n|\n|\r/).slice(0, -1)) {
    if (line === '' && data.length > 0) found.push(data.join('\n'))
    if (line === '') data = []
    const value = /^data(?::\x20?(?<value>.*))?$/su.exec(line)
    if (value) data.push(value.groups?.['value'] ?? '')
  }
  return found
}

test('a line of 16 MiB in small pieces comes through whole, and its memory is let go', () => {
  const payload = Buffer.alloc(16 * 1024 * 1024, 'abcdefgh"é')
  const stream = Buffer.concat([Buffer.from('data: '), payload, Buffer.from('\n\ndata: next\n\n')])
  let same = 0
  let last: ServerEvent | undefined
  const splitter = new EventSplitter((event) => {
    last = event
    if (event.dataEnd - event.dataStart === payload.length && event.isPlain && event.data.equals(payload))
      same++
    if (event.text === 'next') same++
  })
  const started = performance.now()
  for (let at = 0; at < stream.length; at += 1400) splitter.push(stream.subarray(at, at + 1400))
  assert.equal(same, 2)
  splitter.push(stream.subarray(0, 20_000))
  splitter.push(Buffer.from('\n\n'))
  assert.equal(last?.source.length, 0)
  assert.equal(splitter.end(), undefined)
  assert.ok(performance.now() - started < 60_000, 'not quadratic')
})

test('many short lines and ends without order stay linear', () => {
  const started = performance.now()
  for (const unit of ['data\n', '\r', 'x\r', ':\r\n', 'data:\r']) {
    const stream = Buffer.from(`${unit.repeat(400_000)}${'\n'.repeat(10)}`)
    split([stream])
    split(cut(stream, [stream.length / 2]))
  }
  assert.ok(performance.now() - started < 60_000, 'not quadratic')
})

test('an event over the limit is an explicit error, at any cut, and one at the limit is not', () => {
  const stream = Buffer.from(`data: ${'x'.repeat(92)}\n\n`)
  assert.equal(split([stream], 100).events.length, 1)
  for (let at = 0; at <= stream.length; at++) {
    assert.equal(split(cut(stream, [at]), 100).events.length, 1)
    assert.throws(() => split(cut(stream, [at]), 99), EventTooLarge)
  }
  const lines = Buffer.from(': x\n'.repeat(30))
  assert.throws(() => split([lines], 99), { name: 'EventTooLarge', maxBytes: 99 })
})

test('what we encode is read back as the same payload', () => {
  assert.equal(encodeEvent('{"a":1}').toString(), 'data: {"a":1}\n\n')
  assert.equal(encodeEvent('a\r\nb\rc\n', 'x').toString(), 'event: x\ndata: a\ndata: b\ndata: c\ndata: \n\n')
  const law = fc.property(fc.string({ unit: 'grapheme' }), (text) => {
    const [event] = split([encodeEvent(text)]).events
    assert.equal(event?.data, text.replaceAll(/\r\n|\r/g, '\n'))
  })
  fc.assert(law)
})
