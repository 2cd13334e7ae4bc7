import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readChatRequest } from '../request/request-body.ts'
import type { CallerRequest } from '../request/caller-format.ts'
import { failureMessage, upstreamRequestId } from './failure-details.ts'
import { upstreamError, type UpstreamError } from './upstream-error.ts'

const prompt = 'Why does my neighbour Ms Zhang sing at night?'

function requestWith(fields: object, model = 'm'): CallerRequest {
  const messages = [{ role: 'user', content: prompt }]
  return readChatRequest(Buffer.from(JSON.stringify({ model, messages, ...fields })))
}

function failure(message: string): UpstreamError {
  return upstreamError('unavailable', message, 500)
}

describe('failureMessage', () => {
  test('message of the upstream – is kept up to 300 characters, without half a character', () => {
    const request = requestWith({})
    assert.equal(failureMessage(failure('The engine is overloaded.'), request), 'The engine is overloaded.')
    const long = failureMessage(failure('x'.repeat(299) + '😀'), request)
    assert.equal(long, 'x'.repeat(299))
  })

  test('message that repeats the request – is left out, however much of it and however escaped', () => {
    const secret = '我的银行卡密码是六个八'
    for (const [text, message] of [
      [prompt, `Cannot answer: ${prompt}`],
      [prompt, 'Failed near "my neighbour Ms Zhang sing at".'],
      ['PIN 1234', 'Failed at PIN 1234.'],
      [secret, `无法处理：${secret}`],
      ['密码六个八', '无法处理：密码六个八'],
      [`请帮我写一封信，${secret}，谢谢你的帮助`, '内容不合规：的银行卡密码是六个八，'],
      [`"quoted"\nlines: ${prompt}`, `Failed at "quoted"\nlines: ${prompt}`],
    ] as const) {
      const request = requestWith({ messages: [{ role: 'user', content: [{ type: 'text', text }] }] })
      assert.equal(failureMessage(failure(message), request), undefined, message)
    }
    const tools = [{ type: 'function', function: { name: 'f', description: prompt } }]
    assert.equal(
      failureMessage(failure(prompt), requestWith({ messages: [{ role: 'user' }], tools })),
      undefined,
    )
  })

  test('every run of 23 characters of the request – is found at any place in the message', () => {
    for (let at = 0; at + 23 <= prompt.length; at += 1)
      for (let shift = 0; shift < 8; shift += 1) {
        const message = `${'.'.repeat(shift)}${prompt.slice(at, at + 23)}`
        assert.equal(failureMessage(failure(message), requestWith({})), undefined, message)
      }
  })

  test('message that only names the model, a role or a type – is kept', () => {
    const model = 'family-a-large-2026-11-23'
    const request = requestWith({ messages: [{ role: 'assistant', content: `You are ${model}.` }] }, model)
    const message = `The model ${model} failed for the assistant.`
    assert.equal(failureMessage(failure(message), request), message)
  })

  test('request of more than 256 KiB – is not searched, so only our own messages are kept', () => {
    const request = requestWith({ filler: 'x'.repeat(256 * 1024) })
    assert.equal(failureMessage(failure('Overloaded.'), request), undefined)
    const own = upstreamError('timeout', 'The upstream did not respond in time.')
    assert.equal(failureMessage(own, request), own.message)
  })

  test('invalid request – only the error code and the field are kept', () => {
    const request = requestWith({})
    const error = { ...upstreamError('request', 'Too long.', 400), code: 'too_long', param: 'messages[0]' }
    assert.equal(failureMessage(error, request), 'too_long, messages[0]')
    assert.equal(failureMessage({ ...error, code: prompt, param: null }, request), undefined)
  })
})

describe('upstreamRequestId', () => {
  test('headers of providers – the first of a known name is read, in any case', () => {
    for (const [lines, id] of [
      ['X-Request-Id: req_1', 'req_1'],
      ['date: today\r\nrequest-id: req_011', 'req_011'],
      ['x-amzn-RequestId: 6f1c', '6f1c'],
      ['x-request-id: \r\nmsh-request-id: m', 'm'],
      ['x-request-id: two words', undefined],
      [`x-request-id: ${'x'.repeat(129)}`, undefined],
      ['date: today', undefined],
    ] as const)
      assert.equal(upstreamRequestId(`\r\n${lines}\r\n`, ''), id, lines)
    assert.equal(upstreamRequestId('', ''), undefined)
  })

  test('credential in the header – is removed', () => {
    assert.equal(upstreamRequestId('\r\nx-request-id: my-credential-1\r\n', 'my-credential'), '[removed]-1')
  })
})
