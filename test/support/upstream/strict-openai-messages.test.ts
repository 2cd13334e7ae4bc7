import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { findOpenAIChatProblem } from './strict-openai-chat.ts'

const user = { role: 'user', content: 'Hi' }
const call = (id: string, name = 'clock'): object => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }],
})
const result = (id: string): object => ({ role: 'tool', tool_call_id: id, content: 'Noon' })
const said = (...content: unknown[]): object => ({ messages: [{ role: 'user', content }] })
const image = (url: string): object => ({ type: 'image_url', image_url: { url } })
const file = (type: string): object => ({ type: 'file', file: { file_data: `data:${type};base64,QQ==` } })

/** Each rule: its title, an accepted request, a rejected one and the beginning of the error. */
const rules: readonly (readonly [string, object, object, string])[] = [
  ['Messages – there is at least one', {}, { messages: [] }, "Invalid 'messages': empty array."],
  [
    'Roles – only the documented ones',
    { messages: [{ ...user, role: 'developer' }] },
    { messages: [{ ...user, role: 'model' }] },
    "Invalid value: 'model'.",
  ],
  [
    'Message fields – those of the role',
    { messages: [user, { role: 'assistant', content: 'x', refusal: null }] },
    { messages: [{ ...user, reasoning_content: '' }] },
    "Unknown parameter: 'messages[0].reasoning_content'.",
  ],
  [
    'Message name – has no spaces',
    { messages: [{ ...user, name: 'Ann' }] },
    { messages: [{ ...user, name: 'A n' }] },
    "Invalid 'messages[0].name'",
  ],
  [
    'Content – null only with calls',
    { messages: [user, call('a'), result('a')] },
    { messages: [{ role: 'user', content: null }] },
    "Invalid value for 'content': expected a string, got null.",
  ],
  [
    'Content – has at least one part',
    said({ type: 'text', text: 'x' }),
    said(),
    "Invalid 'messages[0].content': empty array.",
  ],
  [
    'Parts – have documented types',
    said({ type: 'text', text: '' }),
    said({ type: 'document' }),
    "Invalid value: 'document'.",
  ],
  [
    'Parts – have documented fields',
    said({ type: 'text', text: '' }),
    said({ type: 'text', text: '', cache_control: {} }),
    "Unknown parameter: 'messages[0].content[0].cache_control'.",
  ],
  [
    'Images – only from the user',
    said(image('https://a.b/c')),
    { messages: [{ role: 'system', content: [image('https://a.b/c')] }] },
    "Invalid 'messages[0]'. Image URLs",
  ],
  [
    'Images – have a URL or data of a supported type',
    said(image('data:image/png;base64,QQ==')),
    said(image('data:image/tiff;base64,QQ==')),
    "Invalid 'messages[0].content[0].image_url.url'.",
  ],
  [
    'Files – are PDF',
    said(file('application/pdf')),
    said(file('text/plain')),
    "Invalid file data: 'messages[0].content[0].file.file_data'.",
  ],
  [
    'Audio – is wav or mp3',
    said({ type: 'input_audio', input_audio: { data: '', format: 'wav' } }),
    said({ type: 'input_audio', input_audio: { data: '', format: 'ogg' } }),
    "Supported values are: 'wav'",
  ],
  [
    'Tool results – follow their calls',
    { messages: [user, call('a'), result('a'), user] },
    { messages: [user, result('a')] },
    "Invalid parameter: messages with role 'tool'",
  ],
  [
    'Tool results – name one of the calls',
    { messages: [user, call('a'), result('a')] },
    { messages: [user, call('a'), result('b')] },
    "Invalid parameter: 'tool_call_id' of 'b' not found",
  ],
  [
    'Tool calls – are answered before other roles',
    { messages: [user, call('a'), result('a')] },
    { messages: [user, call('a'), user] },
    "An assistant message with 'tool_calls' must be followed",
  ],
  [
    'Tool calls – are answered at the end',
    { messages: [user, call('a'), result('a')] },
    { messages: [user, call('a')] },
    "An assistant message with 'tool_calls' must be followed",
  ],
  [
    'Tool calls – are no empty list',
    {},
    { messages: [{ role: 'assistant', content: 'x', tool_calls: [] }] },
    "Invalid 'messages[0].tool_calls': empty array.",
  ],
  [
    'Call ids – have at most 40 characters',
    { messages: [call('a'.repeat(40)), result('a'.repeat(40))] },
    { messages: [call('a'.repeat(41)), result('a'.repeat(41))] },
    "Invalid 'messages[0].tool_calls[0].id': string too long.",
  ],
  [
    'Names in calls – have the pattern',
    { messages: [call('a', 'b-c'), result('a')] },
    { messages: [call('a', 'b.c'), result('a')] },
    "Invalid 'messages[0].tool_calls[0].function.name'",
  ],
]

describe('Strict chat messages', () => {
  for (const [title, accepted, rejected, message] of rules) {
    test(title, () => {
      const find = (fields: object) => findOpenAIChatProblem({ model: 'm', messages: [user], ...fields })
      assert.equal(find(accepted), undefined)
      const problem = find(rejected)
      assert.equal(problem?.status, 400)
      assert.ok(problem.error.message.startsWith(message), problem.error.message)
      assert.equal(problem.error.type, 'invalid_request_error')
    })
  }
})
