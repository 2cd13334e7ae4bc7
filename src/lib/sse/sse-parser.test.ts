import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  encodeSseEvent,
  SseParser,
  SseEventTooLargeError,
  keepAliveComment,
  type SseEvent,
} from './sse-parser.ts'

interface RecordedEvent {
  data: string | undefined
  name: string
  isPlain: boolean
  raw: string
  plain: string
}

function copyEvent(event: SseEvent): RecordedEvent {
  assert.equal(event.text, event.data.toString())
  return {
    data: event.hasData ? event.text : undefined,
    name: event.name,
    isPlain: event.isPlain,
    raw: event.raw.toString('latin1'),
    plain: event.dataOnly.toString(),
  }
}

/** Pushes each piece in a buffer that is overwritten after the call. */
function parseAll(pieces: readonly Buffer[], maxEventBytes?: number) {
  const events: RecordedEvent[] = []
  const parser = new SseParser((event) => events.push(copyEvent(event)), maxEventBytes)
  for (const piece of pieces) {
    const chunk = Buffer.from(piece)
    parser.push(chunk)
    chunk.fill('\n')
  }
  const trailing = parser.end()
  return { events, left: trailing && copyEvent(trailing) }
}

function splitAt(stream: Buffer, positions: readonly number[]): Buffer[] {
  const sorted = [0, ...positions.map((place) => place % (stream.length + 1)).toSorted((a, b) => a - b)]
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

describe('SseParser', () => {
  for (const [label, lineEnd] of [
    ['LF', '\n'],
    ['CR LF', '\r\n'],
    ['CR', '\r'],
  ] as const) {
    for (const mark of ['', '\ufeff']) {
      test(`${label} lines – ${mark ? 'after a byte order mark ' : ''}give the same events at every boundary`, () => {
        const stream = Buffer.from(mark + lines.join(lineEnd))
        const unsplit = parseAll([stream])
        assert.deepEqual(
          unsplit.events.map((event) => event.data),
          payloads,
        )
        assert.equal(unsplit.events[3]?.name, 'message_start')
        assert.equal(unsplit.left?.data, 'left over')
        for (let at = 0; at <= stream.length; at++) assert.deepEqual(parseAll(splitAt(stream, [at])), unsplit)
        assert.deepEqual(parseAll(Array.from(stream, (byte) => Buffer.from([byte]))), unsplit)
      })
    }
  }

  test('plain events – are emitted unchanged, others can be made plain, and comments have no data', () => {
    const { events } = parseAll([Buffer.from(lines.join('\n'))])
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
      parseAll([keepAliveComment]).events.map((event) => event.plain),
      [''],
    )
  })

  test('plain events – of one chunk are views of it', () => {
    const chunk = Buffer.from('data: {"a":1}\n\ndata: {"b":2}\n\ndata: {"c"')
    const ranges: number[][] = []
    new SseParser((event) => {
      assert.equal(event.source, chunk)
      ranges.push([event.start, event.dataStart, event.dataEnd, event.end])
    }).push(chunk)
    assert.deepEqual(ranges, [
      [0, 6, 13, 15],
      [15, 21, 28, 30],
    ])
  })

  test('events – are emitted as soon as the blank line begins, also with CR', () => {
    for (const stream of ['data: x\n\n', 'data: x\r\n\r', 'data: x\r\r', 'data: x\n\r']) {
      assert.equal(parseAll([Buffer.from(stream)]).events.length, 1, JSON.stringify(stream))
      assert.equal(parseAll([Buffer.from(stream)]).left, undefined)
    }
  })

  test('invalid UTF-8 – is passed through unchanged', () => {
    const payload = Buffer.from([0x80, 0xff, 0x20, 0xc3])
    for (const ends of ['\n\n', '\r\n\r\n', '\nid: 1\n\n', '\ndata: \n\n']) {
      const stream = Buffer.concat([Buffer.from('data: '), payload, Buffer.from(ends)])
      let plain = Buffer.alloc(0)
      new SseParser((event) => (plain = Buffer.from(event.dataOnly))).push(stream)
      assert.deepEqual(plain.subarray(6, 10), payload)
    }
  })

  test('property – any lines, line ends and boundaries give the events of the standard', () => {
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
    const property = fc.property(fc.array(fc.tuple(line, ends)), fc.array(fc.nat()), (parts, positions) => {
      const stream = Buffer.from(parts.flat().join(''))
      const unsplit = parseAll([stream])
      assert.deepEqual(parseAll(splitAt(stream, positions)), unsplit)
      assert.deepEqual(
        unsplit.events.flatMap((event) => event.data ?? []),
        payloadsByDefinition(stream.toString()),
      )
    })
    fc.assert(property, { numRuns: 1500 })
  })

  /** A literal, slow implementation of the standard. */
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

  test('large event – a line of 16 MiB in small pieces arrives intact, and its memory is freed', () => {
    const payload = Buffer.alloc(16 * 1024 * 1024, 'abcdefgh"é')
    const stream = Buffer.concat([Buffer.from('data: '), payload, Buffer.from('\n\ndata: next\n\n')])
    let same = 0
    let last: SseEvent | undefined
    const parser = new SseParser((event) => {
      last = event
      if (event.dataEnd - event.dataStart === payload.length && event.isPlain && event.data.equals(payload))
        same++
      if (event.text === 'next') same++
    })
    const started = performance.now()
    for (let at = 0; at < stream.length; at += 1400) parser.push(stream.subarray(at, at + 1400))
    assert.equal(same, 2)
    parser.push(stream.subarray(0, 20_000))
    parser.push(Buffer.from('\n\n'))
    assert.equal(last?.source.length, 0)
    assert.equal(parser.end(), undefined)
    assert.ok(performance.now() - started < 60_000, 'not quadratic')
  })

  test('performance – many short lines and irregular ends take linear time', () => {
    const started = performance.now()
    for (const unit of ['data\n', '\r', 'x\r', ':\r\n', 'data:\r']) {
      const stream = Buffer.from(`${unit.repeat(400_000)}${'\n'.repeat(10)}`)
      parseAll([stream])
      parseAll(splitAt(stream, [stream.length / 2]))
    }
    assert.ok(performance.now() - started < 60_000, 'not quadratic')
  })

  test('event size – over the bound is an error at any boundary, at the bound is not', () => {
    const stream = Buffer.from(`data: ${'x'.repeat(92)}\n\n`)
    assert.equal(parseAll([stream], 100).events.length, 1)
    for (let at = 0; at <= stream.length; at++) {
      assert.equal(parseAll(splitAt(stream, [at]), 100).events.length, 1)
      assert.throws(() => parseAll(splitAt(stream, [at]), 99), SseEventTooLargeError)
    }
    const lines = Buffer.from(': x\n'.repeat(30))
    assert.throws(() => parseAll([lines], 99), { name: 'SseEventTooLargeError', maxBytes: 99 })
  })

  test('encodeSseEvent – is parsed back to the same payload', () => {
    assert.equal(encodeSseEvent('{"a":1}').toString(), 'data: {"a":1}\n\n')
    assert.equal(
      encodeSseEvent('a\r\nb\rc\n', 'x').toString(),
      'event: x\ndata: a\ndata: b\ndata: c\ndata: \n\n',
    )
    const property = fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const [event] = parseAll([encodeSseEvent(text)]).events
      assert.equal(event?.data, text.replaceAll(/\r\n|\r/g, '\n'))
    })
    fc.assert(property)
  })
})
