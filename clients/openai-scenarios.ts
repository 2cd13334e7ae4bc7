/** The scenarios of OpenAI's official clients, by title. */
import assert from 'node:assert/strict'

import type { Scenario } from './client-program.ts'
import { failureScenarios } from './failure-scenarios.ts'
import {
  assertCallIdsReturned,
  assertSchemaSent,
  assertThinkingReturned,
  textSentTo,
} from './server-checks.ts'

export const openaiScenarios: Readonly<Record<string, Scenario>> = {
  'Completion – arrives with usage and request id': { name: 'not_streamed' },
  'Base URL – works without /v1, too, and from the environment': { name: 'base_url' },
  'Stream – has the same text, and no usage unless requested': { name: 'streamed' },
  'Stream with usage – ends with usage and cost, also through the helper': { name: 'streamed_with_usage' },
  'Parallel tool calls – arrive, streaming or not, and their results go back': {
    name: 'tools',
    after: assertCallIdsReturned,
  },
  'Tool calls of another model – go on with this one': { name: 'switched_model' },
  'Sampling parameters – are accepted together': { name: 'sampling' },
  'Image in a data URL – reaches the upstream': {
    name: 'images',
    after: ({ upstreams }, family) => assert.ok(textSentTo(upstreams[family]).includes('iVBORw0KGgo')),
  },
  'JSON schema – is obeyed, and the output is parsed': {
    name: 'json_schema',
    after: assertSchemaSent,
  },
  'Thinking – survives a tool loop with its signature': {
    name: 'thinking',
    families: ['claude'],
    after: ({ upstreams }) => assertThinkingReturned(upstreams.claude, 'claude'),
  },
  'Models of a key – are listed and retrieved': { name: 'models' },
  'Errors – become the error classes of the client and have a request id': { name: 'errors' },
  'Response – is complete, streaming or not, and its parts are parsed': { name: 'responses' },
  'Tool loop of the Responses API – returns reasoning and results to the upstream': {
    name: 'responses_tools',
    after: ({ upstreams }, family) => assertThinkingReturned(upstreams[family], family),
  },
  'Response that fails in its stream – raises an error after the text': { name: 'responses_error' },
  'Stored response – is not found': { name: 'not_available', families: ['other'] },
  'Embeddings – arrive in every form, of texts and of token ids': { name: 'embeddings', families: ['other'] },
  'Too large request – is rejected with 413': { name: 'too_large', families: ['other'] },
  'Error with x-should-retry false – is not retried': { name: 'not_retried' },
  ...failureScenarios,
}
