import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { findBedrockConverseProblem } from './strict-bedrock-converse.ts'

const said = (role: string, ...content: object[]): object => ({ role, content })
const user = said('user', { text: 'Hi' })
const use = (toolUseId: string, fields: object = {}): object => ({
  toolUse: { toolUseId, name: 'clock', input: {}, ...fields },
})
const result = (toolUseId: string): object => ({ toolResult: { toolUseId, content: [{ text: 'Noon' }] } })
const tool = (fields: object = {}): object => ({
  toolConfig: {
    tools: [{ toolSpec: { name: 'clock', inputSchema: { json: { type: 'object' } }, ...fields } }],
  },
})
const looped = (id: string, fields: object = {}): object => ({
  messages: [user, said('assistant', use(id, fields)), said('user', result(id))],
  ...tool(),
})
const image = (format: string): object => ({ messages: [said('user', { image: { format, source: {} } })] })
const inference = (fields: object): object => ({ inferenceConfig: fields })

/** Each rule: its title, an accepted request, a rejected one and a part of the error. */
const rules: readonly (readonly [string, object, object, string])[] = [
  ['Fields – unknown ones are rejected', tool(), { tools: [] }, 'unknown field tools'],
  [
    'First message – is the user’s',
    {},
    { messages: [said('assistant', { text: 'x' })] },
    'must start with a user message',
  ],
  [
    'Roles – alternate',
    { messages: [user, said('assistant', { text: 'x' }), user] },
    { messages: [user, user] },
    'must alternate',
  ],
  ['Content – is not empty', {}, { messages: [said('user')] }, 'is empty'],
  ['Texts – are not blank', {}, { messages: [said('user', { text: ' ' })] }, 'is blank'],
  [
    'Blocks – are of one kind',
    {},
    { messages: [said('user', { type: 'text', text: 'x' })] },
    'must be one of the blocks',
  ],
  ['Images – have supported formats', image('png'), image('tiff'), 'image.format'],
  ['Call ids – have the pattern', looped('a-1'), looped('a:1'), 'toolUse.toolUseId'],
  [
    'Call ids – have at most 64 characters',
    looped('a'.repeat(64)),
    looped('a'.repeat(65)),
    'toolUse.toolUseId',
  ],
  ['Calls – their input is an object', looped('a'), looped('a', { input: '' }), 'Provide a json object'],
  [
    'Calls – are answered',
    looped('a'),
    { ...looped('a'), messages: [user, said('assistant', use('a')), user] },
    'Expected toolResult blocks at messages.2',
  ],
  [
    'Calls – are answered at the end',
    looped('a'),
    { ...looped('a'), messages: [user, said('assistant', use('a'))] },
    'Expected toolResult blocks at messages.2',
  ],
  ['Results – have a call', looped('a'), { messages: [said('user', result('a'))] }, 'exceeds the number'],
  [
    'toolConfig – is there after calls',
    looped('a'),
    { ...looped('a'), toolConfig: undefined },
    'The toolConfig field must be defined',
  ],
  ['Tools – there is at least one', tool(), { toolConfig: { tools: [] } }, 'toolConfig.tools'],
  ['Tools – their names have the pattern', tool({ name: 'a-b' }), tool({ name: 'a.b' }), 'toolSpec.name'],
  [
    'Tools – their schema is an object’s',
    tool(),
    tool({ inputSchema: { json: {} } }),
    'inputSchema.json.type',
  ],
  [
    'temperature – is between 0 and 1',
    inference({ temperature: 1 }),
    inference({ temperature: 1.1 }),
    'inferenceConfig.temperature',
  ],
  [
    'maxTokens – is at least 1',
    inference({ maxTokens: 1 }),
    inference({ maxTokens: 0 }),
    'inferenceConfig.maxTokens',
  ],
]

describe('Strict Converse', () => {
  for (const [title, accepted, rejected, message] of rules) {
    test(title, () => {
      assert.equal(findBedrockConverseProblem({ messages: [user], ...accepted }), undefined)
      const problem = findBedrockConverseProblem({ messages: [user], ...rejected })
      assert.equal(problem?.status, 400)
      assert.ok(problem.error.message.includes(message), problem.error.message)
    })
  }
})
