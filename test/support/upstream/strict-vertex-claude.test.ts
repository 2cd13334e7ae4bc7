import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { findVertexClaudeProblem } from './strict-vertex-claude.ts'

const request = {
  anthropic_version: 'vertex-2023-10-16',
  max_tokens: 9,
  messages: [{ role: 'user', content: 'Hi' }],
}
const model = 'claude-sonnet-4-5@20250929'

/** Each rule: its title, what a rejected request has in addition, and the beginning of the error. */
const rules: readonly (readonly [string, object, string])[] = [
  ['Version – is in the body', { anthropic_version: undefined }, 'anthropic_version: Field required'],
  ['Version – is Vertex’s', { anthropic_version: '2023-06-01' }, 'anthropic_version: Input should be'],
  ['Model – is not in the body', { model }, 'model: Extra inputs are not permitted'],
  ['Other rules – are Anthropic’s', { messages: [] }, 'messages: at least one message is required'],
  [
    'Rules for a model – are for the one in the URL',
    { temperature: 1, top_p: 1 },
    '`temperature` and `top_p`',
  ],
]

describe('Strict Claude on Vertex AI', () => {
  for (const [title, rejected, message] of rules) {
    test(title, () => {
      assert.equal(findVertexClaudeProblem(request, model), undefined)
      const problem = findVertexClaudeProblem({ ...request, ...rejected }, model)
      assert.equal(problem?.status, 400)
      assert.ok(problem.error.error.message.startsWith(message), problem.error.error.message)
    })
  }
})
