/** The scenarios of Anthropic's official clients, by title. */
import assert from 'node:assert/strict'

import type { Scenario } from './client-program.ts'
import { failureScenarios } from './failure-scenarios.ts'
import { assertCallIdsReturned, assertSchemaSent, rejectOnce, textSentTo } from './server-checks.ts'
import { signature } from './upstream-scripts.ts'

const imageTooLarge = {
  type: 'invalid_request_error',
  message: 'messages.0.content.0: image dimensions exceed 8000 pixels',
  details: {
    error_code: 'image_dimensions_too_large',
    max_side_length_pixels: 8000,
    paths: ['messages.0.content.0'],
  },
}

export const anthropicScenarios: Readonly<Record<string, Scenario>> = {
  'Message – arrives with usage and request id': { name: 'not_streamed' },
  'Base URL and key or token – work from the environment, too': { name: 'authentication' },
  'Stream – has the same message, event by event': { name: 'streamed' },
  'Parallel tool calls – arrive, streaming or not, and their results go back': {
    name: 'tools',
    after: assertCallIdsReturned,
  },
  'Tool calls of another model – go on with this one': { name: 'switched_model' },
  'Tool runner – calls the tools, without threads': { name: 'tool_runner', after: assertCallIdsReturned },
  'Thread – is rejected with the error class of the client': { name: 'thread', since: 1 },
  'Tool name of 128 characters – comes back': { name: 'long_tool_name' },
  'JSON schema – is obeyed, and the output is parsed': {
    name: 'json_schema',
    after: assertSchemaSent,
  },
  'Sampling parameters – are accepted together': { name: 'sampling', families: ['other'] },
  'Thinking – arrives with its signature and survives a tool loop': {
    name: 'thinking',
    after({ upstreams }, family) {
      const sent = {
        claude: { content: [{ type: 'thinking', thinking: 'Let me see.', signature }] },
        other: { reasoning_content: 'Let me see.', tool_calls: [{}, {}] },
      }
      const messages = [{ role: 'user' }, { role: 'assistant', ...sent[family] }]
      assert.partialDeepStrictEqual(upstreams[family].requests.at(-1)?.json, { messages })
    },
  },
  'Image and cached system prompt – reach the upstream': {
    name: 'images',
    after({ upstreams }, family) {
      const sent = textSentTo(upstreams[family])
      assert.ok(sent.includes('iVBORw0KGgo') && sent.includes('Be brief.'))
      assert.equal(sent.includes('cache_control'), family === 'claude')
    },
  },
  'Beta headers – reach only upstreams that support them': {
    name: 'betas',
    after({ upstreams }, family) {
      const beta = upstreams[family].requests.at(-1)?.headers['anthropic-beta']
      assert.equal(beta, family === 'claude' ? 'a-beta-2025-01-01' : undefined)
    },
  },
  'Token counting – returns the input tokens': { name: 'token_counting' },
  'Models – are listed page by page and retrieved': { name: 'models' },
  'Errors – become the error classes of the client, have a request id, are not retried': { name: 'errors' },
  'Error with details – becomes the error class of its code': {
    name: 'typed_error',
    since: 1,
    families: ['claude'],
    before: (context, family) => rejectOnce(context, family, 400, imageTooLarge),
  },
  'Batches – are not found': { name: 'not_available', families: ['other'] },
  'Too large request – is rejected with 413': { name: 'too_large', families: ['other'] },
  ...failureScenarios,
}
