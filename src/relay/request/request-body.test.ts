import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../errors.ts'
import type { BodyEdits } from '../../providers/provider.ts'
import { readChatRequest } from './request-body.ts'

const messages = [{ role: 'user', content: 'Hello' }]
const read = (body: unknown) =>
  readChatRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
const spliced = (body: unknown, edits: BodyEdits) => Buffer.concat(read(body).encode(edits)).toString()

function errorOf(body: unknown): string {
  try {
    read(body)
    return 'accepted'
  } catch (error) {
    assert.ok(error instanceof ApiError)
    assert.equal(error.status, 400)
    return `${error.code} ${error.detail.param}`
  }
}

describe('readChatRequest', () => {
  test('fields – are parsed, with null as absent', () => {
    const plain = read({ model: 'm', messages })
    assert.deepEqual(
      [plain.model, plain.stream, plain.includeUsage, plain.n, plain.maxOutputTokens, plain.maxOutputField],
      ['m', false, false, 1, null, null],
    )
    const nulls = {
      n: null,
      stream: null,
      stream_options: null,
      max_tokens: null,
      temperature: null,
      top_p: null,
    }
    assert.equal(errorOf({ model: 'm', messages, ...nulls, presence_penalty: null }), 'accepted')
    const asked = read({ model: 'é', messages, stream: true, stream_options: { include_usage: true }, n: 3 })
    assert.deepEqual([asked.model, asked.stream, asked.includeUsage, asked.n], ['é', true, true, 3])
    const both = read({ model: 'm', messages, max_tokens: 50, max_completion_tokens: 40 })
    assert.deepEqual([both.maxOutputTokens, both.maxOutputField, both.callerMaximumTokens], [40, null, 40])
    assert.deepEqual(both.parsed(), { model: 'm', messages, max_tokens: 50, max_completion_tokens: 40 })
    assert.equal(both.parsed(), both.parsed())
  })

  test('integers – are recognized by value, in any notation', () => {
    const body = (n: string) => `{"model":"m","messages":[{"role":"user"}],"max_tokens":${n}}`
    for (const [text, value] of [
      ['1e2', 100],
      ['5.0', 5],
      ['2147483648', 2 ** 31],
      ['0.1e1', 1],
    ] as const) {
      assert.equal(read(body(text)).maxOutputTokens, value)
    }
    for (const text of ['0', '-1', '1.5', '2147483649', '1e400', '"5"', 'true', '[1]', '1'.repeat(2000)]) {
      assert.equal(errorOf(body(text)), 'invalid_request max_tokens', text)
    }
  })

  test('invalid fields – are rejected by name', () => {
    const wrong: [string, unknown[]][] = [
      ['model', ['', null, 5, undefined, 'x'.repeat(257), ['m']]],
      ['messages', [[], null, undefined, {}, 'hi']],
      ['temperature', [-0.1, 2.1, '1', {}]],
      ['top_p', [-0.1, 1.1]],
      ['n', [0, 129, 1.5, '1', 1e300]],
      ['presence_penalty', [-2.1, 2.1]],
      ['frequency_penalty', [-2.1, 2.1]],
      ['max_tokens', [0, -5, 1.5]],
      ['max_completion_tokens', [0, 2 ** 32]],
      ['stream', ['true', 1, 0]],
      ['stream_options', [{}, 5, [], 'x']],
    ]
    for (const [field, values] of wrong) {
      for (const value of values) {
        assert.equal(errorOf({ model: 'm', messages, [field]: value }), `invalid_request ${field}`)
      }
    }
    const huge = '{"model":"m","messages":[{"role":"user"}],"n":18446744073686646784}'
    assert.equal(errorOf(huge), 'invalid_request n')
    const options = { model: 'm', messages, stream: true, stream_options: { include_usage: 1 } }
    assert.equal(errorOf(options), 'invalid_request stream_options.include_usage')
    assert.throws(() => read({ model: 'm', messages, temperature: 3 }), {
      message: 'Invalid `temperature`: must be a number between 0 and 2.',
    })
  })

  test('messages – must be objects with a role; the invalid one is named', () => {
    const good = { role: 'user', content: [{ type: 'text', text: 'x' }] }
    assert.equal(
      errorOf({ model: 'm', messages: [good, good, good, { content: 'x' }] }),
      'invalid_request messages[3].role',
    )
    assert.equal(
      errorOf({ model: 'm', messages: [good, { role: 5 }, 7] }),
      'invalid_request messages[1].role',
    )
    assert.equal(errorOf({ model: 'm', messages: [good, 'x'] }), 'invalid_request messages[1]')
    assert.equal(
      errorOf({ model: 'm', messages: [{ role: 'anything', content: { left: 'to the provider' } }] }),
      'accepted',
    )
    assert.equal(errorOf('{"model":"m","messages":[{"r\\u006fle":"user"}]}'), 'accepted')
  })

  test('body – must be a JSON object in UTF-8', () => {
    for (const text of ['', '{', '{"model":"m",}', '{"model":"m"} x', '{"a":"\n"}', 'nonsense']) {
      assert.equal(errorOf(text), 'invalid_json undefined', text)
    }
    assert.throws(() => readChatRequest(Buffer.from('{"model":"\xff"}', 'latin1')), { code: 'invalid_json' })
    for (const text of ['[]', 'null', '"x"', '5']) assert.equal(errorOf(text), 'invalid_request undefined')
    const deep = `{"model":"m","messages":[{"role":"user"}],"x":${'['.repeat(600)}${']'.repeat(600)}}`
    assert.equal(errorOf(deep), 'invalid_request undefined')
  })

  test('lookalike fields – are rejected', () => {
    for (const key of ['Model', 'MAX_TOKENS', 'ſtream', 'Stream_Options', 'max_toKens']) {
      assert.equal(errorOf({ model: 'm', messages, [key]: 1 }), `invalid_request ${key}`)
    }
    assert.equal(errorOf({ model: 'm', messages, modelz: [], STOP: 'x' }), 'accepted')
  })

  test('fields and models with U+0000 or half a character – are rejected', () => {
    for (const [key, shown] of [
      ['model\0', 'model\\u0000'],
      ['\ud800model', '\\ud800model'],
      ['mo\udc00del', 'mo\\udc00del'],
      ['\0', '\\u0000'],
      [`${'x'.repeat(200)}\0`, 'x'.repeat(100)],
    ] as const) {
      assert.equal(errorOf({ model: 'm', messages, [key]: 1 }), `invalid_request ${shown}`)
    }
    for (const model of ['m\0', '\ud800', 'm\udc00m']) {
      assert.equal(errorOf({ model, messages }), 'invalid_request model')
    }
    assert.equal(errorOf({ model: '模型', messages, '\u{1f600}': 1 }), 'accepted')
  })
})

describe('ChatCompletionRequest.encode', () => {
  test('model – is the only change if nothing else is needed', () => {
    const body =
      ' {"x" : 1e2, "model"\t:"mine" ,"messages": [{"role":"user","content":"\\u4e2d\\/"}],"seed":12345678901234567890}\n'
    const pieces = read(body).encode({ model: 'the"irs' })
    assert.equal(Buffer.concat(pieces).toString(), body.replace('"mine"', '"the\\"irs"'))
  })

  test('bytes – are views of the caller’s, not copies', () => {
    const body = Buffer.from(
      JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(9999) }] }),
    )
    const pieces = readChatRequest(body).encode({
      model: 'other',
      maximum: { tokens: 5, field: 'max_tokens' },
    })
    assert.ok(pieces.some((piece) => piece.buffer === body.buffer && piece.length > 9999))
    assert.ok(pieces.reduce((sum, piece) => sum + (piece.buffer === body.buffer ? 0 : piece.length), 0) < 100)
  })

  test('stream_options – request the usage, keep other options, or are omitted', () => {
    const stream = { model: 'm', messages, stream: true }
    const options = (body: object, edits: Partial<BodyEdits> = {}) =>
      (JSON.parse(spliced(body, { model: 'm', ...edits })) as Record<string, unknown>)['stream_options']
    assert.deepEqual(options(stream), { include_usage: true })
    assert.deepEqual(options({ ...stream, stream_options: null }), { include_usage: true })
    const other = { include_usage: false, include_obfuscation: false }
    assert.deepEqual(options({ ...stream, stream_options: other }), {
      include_obfuscation: false,
      include_usage: true,
    })
    assert.equal('stream_options' in JSON.parse(spliced({ model: 'm', messages }, { model: 'm' })), false)
    for (const body of [stream, { stream_options: other, ...stream }, { ...stream, stream_options: other }]) {
      assert.deepEqual(
        JSON.parse(spliced(body, { model: 'm', withoutFields: new Set(['stream_options']) })),
        stream,
      )
    }
  })

  test('The maximum is sent in the field of the edit, and is lowered but never raised', () => {
    const maximum = { tokens: 100, field: 'max_completion_tokens' }
    const result = (body: object, edits: Partial<BodyEdits> = { maximum }) => {
      const all = JSON.parse(spliced({ model: 'm', messages, ...body }, { model: 'm', ...edits })) as Record<
        string,
        unknown
      >
      return [all['max_tokens'], all['max_completion_tokens']]
    }
    assert.deepEqual(result({}), [undefined, 100])
    assert.deepEqual(result({ max_completion_tokens: null }), [undefined, 100])
    assert.deepEqual(result({ max_tokens: 500 }), [undefined, 100])
    assert.deepEqual(result({ max_tokens: 50 }), [undefined, 50])
    assert.deepEqual(result({ max_tokens: null }), [undefined, 100])
    assert.deepEqual(result({ max_tokens: 500, max_completion_tokens: 70 }), [undefined, 70])
    assert.deepEqual(result({ max_tokens: 500, max_completion_tokens: 700 }), [undefined, 100])
    assert.deepEqual(result({ max_tokens: 60, max_completion_tokens: null }), [undefined, 60])
    assert.deepEqual(result({ max_tokens: 500 }, {}), [500, undefined])
    assert.deepEqual(result({ max_completion_tokens: 500 }, {}), [undefined, 500])
  })
  test('ambiguous body – is sent as the relay read it', () => {
    const body =
      '\ufeff{"model":"cheap","n":1,"m\\u006fdel":"dear","seed":12345678901234567890,"messages":[{"role":"user"}],"n":2}'
    const request = read(body)
    assert.deepEqual([request.model, request.n, request.bytes], ['dear', 2, Buffer.byteLength(body)])
    assert.equal(
      Buffer.concat(request.encode({ model: 'up' })).toString(),
      '{"model":"up","n":2,"seed":12345678901234567890,"messages":[{"role":"user"}]}',
    )
  })

  test('random members – the encoded body is the parsed one with exactly the edits', () => {
    const ours = /^(?:n|model|messages|stream|stream_options|top_p)$/i
    const key = fc
      .string({ unit: 'binary', maxLength: 6 })
      .filter((name) => !ours.test(name) && !name.includes('\0'))
    const bodies = fc
      .record({
        others: fc.dictionary(key, fc.jsonValue({ maxDepth: 2 })),
        maximum: fc.constantFrom({}, { max_tokens: 900 }, { max_tokens: 5 }),
        stream: fc.constantFrom(
          {},
          { stream: false },
          { stream: true },
          { stream: true, stream_options: { a: 1 } },
        ),
      })
      .chain(({ others, maximum, stream }) => {
        const entries = Object.entries({ model: 'mine', messages, ...others, ...maximum, ...stream })
        return fc.shuffledSubarray(entries, { minLength: entries.length })
      })
    const law = fc.property(bodies, fc.boolean(), (entries, hasNoOptions) => {
      const texts = entries.map(
        ([name, value]) => `${JSON.stringify(name)} :${JSON.stringify(value, null, 1)}`,
      )
      const before = JSON.parse(`{${texts.join(' ,')}}`) as Record<string, unknown>
      const withoutFields = new Set(hasNoOptions ? ['stream_options'] : [])
      const edits = { model: 'up', maximum: { tokens: 7, field: 'limit' }, withoutFields }
      const after = JSON.parse(spliced(`{${texts.join(' ,')} }`, edits)) as Record<string, unknown>
      const { stream_options: options, max_tokens: asked, ...expected } = before
      expected['model'] = 'up'
      expected['limit'] = asked === 5 ? 5 : 7
      if (before['stream'] === true && !hasNoOptions) {
        expected['stream_options'] =
          options === undefined ? { include_usage: true } : { a: 1, include_usage: true }
      }
      assert.deepEqual(after, expected)
    })
    fc.assert(law, { numRuns: 1000 })
  })
})
