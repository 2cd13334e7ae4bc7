import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { findAnthropicMessagesProblem } from './strict-anthropic-messages.ts'

const user = { role: 'user', content: 'Hi' }
const said = (role: string, ...content: object[]): object => ({ role, content })
const text = (value: string): object => ({ type: 'text', text: value })
const use = (id: string, fields: object = {}): object => ({
  type: 'tool_use',
  id,
  name: 'clock',
  input: {},
  ...fields,
})
const result = (id: string): object => ({ type: 'tool_result', tool_use_id: id, content: 'Noon' })
const after = (...messages: object[]): object => ({ messages: [user, ...messages] })
const looped = (id: string, fields: object = {}): object =>
  after(said('assistant', use(id, fields)), said('user', result(id)))
const image = (source: object): object => ({ messages: [said('user', { type: 'image', source })] })
const base64 = (media: string): object => ({ type: 'base64', media_type: media, data: 'QQ==' })
const cached = (count: number): object => ({
  system: Array.from({ length: count }, () => ({ ...text('x'), cache_control: { type: 'ephemeral' } })),
})
const prefill = { messages: [user, { role: 'assistant', content: 'So' }] }

/** Each rule: its title, an accepted request, a rejected one and the beginning of the error. */
const rules: readonly (readonly [string, object, object, string])[] = [
  ['Messages – there is at least one', {}, { messages: [] }, 'messages: at least one message is required'],
  [
    'Roles – only the documented ones',
    after({ role: 'system', content: 'x' }),
    { messages: [{ ...user, role: 'tool' }] },
    'messages.0.role: Input should be',
  ],
  [
    'First message – is the user’s',
    {},
    { messages: [{ ...user, role: 'assistant' }] },
    'messages: first message must use the "user" role',
  ],
  [
    'Message fields – unknown ones are rejected',
    {},
    { messages: [{ ...user, name: 'x' }] },
    'messages.0.name: Extra inputs',
  ],
  [
    'Content – is not empty',
    {},
    { messages: [said('user')] },
    'messages.0: all messages must have non-empty content',
  ],
  [
    'Content – may be empty in the last of the assistant',
    after(said('assistant')),
    after(said('assistant'), user),
    'messages.1: all messages must have non-empty content',
  ],
  [
    'Texts – are not empty',
    {},
    { messages: [said('user', text(''))] },
    'messages: text content blocks must be non-empty',
  ],
  [
    'Texts – are not blank',
    {},
    { messages: [said('user', text(' \n'))] },
    'messages: text content blocks must contain non-whitespace text',
  ],
  [
    'System – its texts are not blank',
    { system: 'x' },
    { system: ' ' },
    'system: text content blocks must contain',
  ],
  [
    'System – has only text',
    { system: [text('x')] },
    { system: [{ type: 'image' }] },
    "system.0.type: Input should be 'text'",
  ],
  [
    'Blocks – have documented types',
    {},
    { messages: [said('user', { type: 'image_url' })] },
    "messages.0.content.0: Input tag 'image_url'",
  ],
  [
    'Blocks – have documented fields',
    { messages: [said('user', { ...text('x'), citations: null })] },
    { messages: [said('user', { ...text('x'), id: 'x' })] },
    'messages.0.content.0.text.id: Extra inputs',
  ],
  [
    'Blocks – are on their side',
    looped('a'),
    { messages: [said('user', use('a'))] },
    'messages.0.content.0: `tool_use` blocks can only be',
  ],
  [
    'Final assistant content – ends without white space',
    prefill,
    after({ role: 'assistant', content: 'So ' }),
    'messages: final assistant content cannot end',
  ],
  [
    'Final assistant content – not for recent models',
    { ...prefill, model: 'claude-sonnet-4-5' },
    { ...prefill, model: 'claude-opus-4-6' },
    'This model does not support assistant message prefill.',
  ],
  [
    'Call ids – have the pattern',
    looped('a-1'),
    looped('a:1'),
    'messages.1.content.0.tool_use.id: String should match pattern',
  ],
  [
    'Call ids – are unique',
    looped('a'),
    after(said('assistant', use('a'), use('a')), said('user', result('a'))),
    'messages.1.content.1: `tool_use` ids must be unique',
  ],
  [
    'Calls – their input is an object',
    looped('a'),
    looped('a', { input: '{}' }),
    'messages.1.content.0.tool_use.input: Input should be',
  ],
  [
    'Calls – their names have at most 200 characters',
    looped('a', { name: 'f'.repeat(200) }),
    looped('a', { name: 'f'.repeat(201) }),
    'messages.1.content.0.tool_use.name',
  ],
  [
    'Calls – are answered in the next message',
    looped('a'),
    after(said('assistant', use('a')), user),
    'messages.1: `tool_use` ids were found without',
  ],
  [
    'Calls – are answered at the end',
    looped('a'),
    after(said('assistant', use('a'))),
    'messages.1: `tool_use` ids were found without',
  ],
  [
    'Results – come first in their message',
    after(said('assistant', use('a')), said('user', result('a'), text('x'))),
    after(said('assistant', use('a')), said('user', text('x'), result('a'))),
    'messages.1: `tool_use` ids were found without',
  ],
  [
    'Results – are combined from adjacent messages',
    after(
      said('assistant', use('a')),
      said('assistant', use('b')),
      said('user', result('a')),
      said('user', result('b')),
    ),
    after(said('assistant', use('a')), said('user', result('a'), result('a'))),
    'messages.2: each tool_use must have a single result',
  ],
  [
    'Results – have a call',
    looped('a'),
    { messages: [said('user', result('a'))] },
    'messages.0.content.0: unexpected `tool_use_id`',
  ],
  [
    'Images – have supported media types',
    image(base64('image/png')),
    image(base64('image/tiff')),
    'messages.0.content.0.image.source.base64.media_type',
  ],
  [
    'Images – have documented sources',
    image({ type: 'url', url: 'https://a.b/c' }),
    image({ type: 'file_data' }),
    "messages.0.content.0.image.source: Input tag 'file_data'",
  ],
  [
    'cache_control – is ephemeral',
    cached(1),
    { cache_control: { type: 'forever' } },
    "cache_control.cache_control.type: Input should be 'ephemeral'",
  ],
]

describe('Strict conversations', () => {
  for (const [title, accepted, rejected, message] of rules) {
    test(title, () => {
      const find = (fields: object) =>
        findAnthropicMessagesProblem({ model: 'm', max_tokens: 9, messages: [user], ...fields })
      assert.equal(find(accepted)?.error.error.message, undefined)
      const problem = find(rejected)
      assert.equal(problem?.status, 400)
      assert.ok(problem.error.error.message.startsWith(message), problem.error.error.message)
      assert.deepEqual([problem.error.type, problem.error.error.type], ['error', 'invalid_request_error'])
    })
  }
})
