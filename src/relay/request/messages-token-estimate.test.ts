import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { messagesRequest } from './messages.fixture.ts'
import { imageTokens } from './embedded-data.ts'
import { inputEstimateForHold } from './token-estimate.ts'
import { estimateMessagesInput } from './messages-token-estimate.ts'

const image = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: `iVBOR${'A'.repeat(400_000)}` },
}

function held(messages: object[]): number {
  const { bytes, embedded } = messagesRequest({ messages })
  return inputEstimateForHold(bytes, embedded)
}

describe('estimateMessagesInput', () => {
  test('texts – all count: system, messages, thinking, tool calls, results and definitions', () => {
    const tools = [{ name: 'f' }]
    const request = {
      system: [{ type: 'text', text: '12345678' }],
      messages: [
        { role: 'user', content: '1234' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: '1234', signature: 'x'.repeat(4000) },
            { type: 'text', text: '你好你好你好你' },
            { type: 'tool_use', id: 'toolu_1', name: 'some', input: { a: 'b' } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', content: [{ type: 'text', text: '12345678' }] }] },
      ],
      tools,
    }
    const texts = ['12345678', '1234', '1234', 'some', '{"a":"b"}', '12345678', JSON.stringify(tools)].join(
      '',
    )
    assert.equal(estimateMessagesInput(request), Math.ceil(texts.length / 4 + 7 / 1.75))
  })

  test('images – count by kind, also in tool results', () => {
    const inTool = { type: 'tool_result', tool_use_id: 'toolu_1', content: [image] }
    for (const block of [image, inTool]) {
      const messages = [{ role: 'user', content: [block] }]
      assert.equal(estimateMessagesInput({ messages }), imageTokens)
      assert.ok(held(messages) >= imageTokens && held(messages) < imageTokens + 100)
    }
  })

  test('documents – plain text counts by bytes, PDF by size', () => {
    const text = 'plain words '.repeat(10_000)
    const plain = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } }
    assert.ok(held([{ role: 'user', content: [plain] }]) >= text.length / 4)
    assert.equal(estimateMessagesInput({ messages: [{ role: 'user', content: [plain] }] }), text.length / 4)
    const data = `JVBERi${'A'.repeat(48_000)}`
    const pages = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } }
    const counted = estimateMessagesInput({ messages: [{ role: 'user', content: [pages] }] })
    assert.ok(counted > 4_000 && counted < 6_000, String(counted))
  })
})
