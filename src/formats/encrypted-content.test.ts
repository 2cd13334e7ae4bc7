import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { addHolder, itemForHolder, lastHolder } from './encrypted-content.ts'

const [own, other] = ['a'.repeat(12), 'b'.repeat(12)]
const text = { type: 'input_text', text: 'Found it.' }

function messageFrom(holder: string): object {
  const part = { type: 'encrypted_content', encrypted_content: 'gAAA' }
  const item = { type: 'agent_message', author: 'a', recipient: 'b', content: [text, part] }
  return JSON.parse(addHolder(JSON.stringify(item), holder)) as object
}

describe('encrypted_content', () => {
  test('In a message of another agent, it goes back to its holder only', () => {
    const item = messageFrom(own)
    assert.equal(lastHolder([{ role: 'user', content: 'Hi' }, item, { type: 'reasoning' }]), own)
    const kept = itemForHolder(item, 'input[0]', own) as { content: unknown[] }
    assert.deepEqual(kept.content, [text, { type: 'encrypted_content', encrypted_content: 'gAAA' }])
    const left = itemForHolder(item, 'input[0]', other) as { content: unknown[] }
    assert.deepEqual(left.content, [text])
  })
})
