import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { findGeminiProblem } from './strict-gemini.ts'

const said = (role: string, ...parts: object[]): object => ({ role, parts })
const user = said('user', { text: 'Hi' })
const call = (fields: object = {}): object => ({ functionCall: { name: 'clock', args: {}, ...fields } })
const result = (fields: object = {}): object => ({
  functionResponse: { name: 'clock', response: { output: 'Noon' }, ...fields },
})
const after = (...contents: object[]): object => ({ contents: [user, ...contents] })
const looped = after(said('model', call()), said('user', result()))
const part = (fields: object): object => ({ contents: [said('user', fields)] })
const tool = (fields: object = {}): object => ({
  tools: [{ functionDeclarations: [{ name: 'clock', ...fields }] }],
})
const parameters = (schema: object): object => tool({ parameters: schema })
const city = { type: 'OBJECT', properties: { city: { type: 'string' } } }
const calling = (fields: object): object => ({ ...tool(), toolConfig: { functionCallingConfig: fields } })
const config = (fields: object): object => ({ generationConfig: fields })
const thinking = (fields: object): object => config({ thinkingConfig: fields })
const stops = (length: number): object => config({ stopSequences: Array.from({ length }, String) })

/** Each rule: its title, an accepted request, a rejected one and a part of the error. */
const rules: readonly (readonly [string, object, object, string])[] = [
  ['Fields – unknown ones are rejected', {}, { stream: true }, 'Unknown name "stream": Cannot find field.'],
  ['Contents – there is at least one', {}, { contents: [] }, 'contents: contents is not specified'],
  [
    'Content fields – unknown ones are rejected',
    {},
    { contents: [{ ...user, content: 'x' }] },
    'Unknown name "content" at \'contents[0]\'',
  ],
  [
    'Roles – user and model',
    after(said('model', { text: 'x' })),
    after(said('assistant', { text: 'x' })),
    'Please use a valid role: user, model.',
  ],
  ['Parts – there is at least one', {}, after(said('user')), 'contents[1].parts: contents.parts must not'],
  [
    'Parts – have documented fields',
    part({ text: 'x', thoughtSignature: 'QQ==' }),
    part({ type: 'text', text: 'x' }),
    'Unknown name "type" at \'contents[0].parts[0]\'',
  ],
  [
    'Parts – have data',
    {},
    part({ thought: true }),
    "contents[0].parts[0].data: required oneof field 'data' must have one initialized field",
  ],
  [
    'Parts – have one kind of data',
    {},
    part({ text: 'x', inlineData: { mimeType: 'image/png', data: 'QQ==' } }),
    "oneof field 'data' is already set. Cannot set 'inlineData'",
  ],
  [
    'Texts – are not empty without a signature',
    part({ text: '', thoughtSignature: 'QQ==' }),
    part({ text: '' }),
    'it has an empty text parameter',
  ],
  [
    'Inline data – have a MIME type',
    part({ inlineData: { mimeType: 'image/png', data: 'QQ==' } }),
    part({ inlineData: { data: 'QQ==' } }),
    'an empty mimeType parameter in inlineData',
  ],
  [
    'Inline data – have documented fields',
    {},
    part({ inlineData: { mimeType: 'image/png', url: 'x' } }),
    'Unknown name "url" at \'contents[0].parts[0].inline_data\'',
  ],
  [
    'Files – have a MIME type',
    part({ fileData: { mimeType: 'image/png', fileUri: 'https://a.b' } }),
    part({ fileData: { mimeType: '', fileUri: 'https://a.b' } }),
    'an empty mimeType parameter in fileData',
  ],
  [
    'System instruction – its texts are not empty',
    { systemInstruction: { parts: [{ text: 'x' }] } },
    { systemInstruction: { parts: [{ text: '' }] } },
    'it has an empty text parameter',
  ],
  [
    'Calls – their arguments are an object',
    looped,
    after(said('model', call({ args: '{}' })), said('user', result())),
    "Invalid value at 'contents[1].parts[0].function_call.args'",
  ],
  [
    'Calls – come after a user’s turn',
    looped,
    { contents: [said('model', call()), said('user', result())] },
    'Please ensure that function call turn comes immediately after a user turn',
  ],
  [
    'Calls – come not after a model’s turn',
    after(said('model', call()), said('user', result()), said('model', call()), said('user', result())),
    after(said('model', { text: 'x' }), said('model', call()), said('user', result())),
    'Please ensure that function call turn comes immediately after a user turn',
  ],
  [
    'Calls – are all answered in the next turn',
    after(said('model', call(), call()), said('user', result(), result())),
    after(said('model', call(), call()), said('user', result()), said('user', result())),
    'Please ensure that the number of function response parts is equal',
  ],
  [
    'Calls – are answered at the end',
    looped,
    after(said('model', call())),
    'Please ensure that the number of function response parts is equal',
  ],
  [
    'Responses – follow a call',
    looped,
    after(said('user', result())),
    'Please ensure that function response turn comes immediately after a function call turn.',
  ],
  [
    'Responses – have a name',
    looped,
    after(said('model', call()), said('user', result({ name: '' }))),
    'contents[2].parts[0].function_response.name: Name cannot be empty.',
  ],
  [
    'Responses – are an object',
    looped,
    after(said('model', call()), said('user', result({ response: 'Noon' }))),
    "Invalid value at 'contents[2].parts[0].function_response.response'",
  ],
  ['Tools – have documented fields', tool(), { tools: [{ function: {} }] }, 'Unknown name "function" at'],
  [
    'Declarations – have documented fields',
    tool({ parametersJsonSchema: { type: 'object', additionalProperties: false } }),
    tool({ strict: true }),
    'Unknown name "strict" at \'tools[0].function_declarations[0]\'',
  ],
  ['Names – begin with a letter', tool({ name: '_a.b:c-1' }), tool({ name: '1a' }), 'Invalid function name'],
  [
    'Names – have at most 64 characters',
    tool({ name: 'a'.repeat(64) }),
    tool({ name: 'a'.repeat(65) }),
    'with a maximum length of 64',
  ],
  [
    'Names – are unique',
    { tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'b' }] }] },
    { tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'a' }] }] },
    'Duplicate function declaration found: a',
  ],
  [
    'parameters – not with parametersJsonSchema',
    parameters(city),
    tool({ parameters: city, parametersJsonSchema: {} }),
    'mutually exclusive',
  ],
  [
    'parameters – have the keywords of OpenAPI',
    parameters(city),
    parameters({ ...city, properties: { a: { type: 'OBJECT', additionalProperties: false } } }),
    'Unknown name "additionalProperties" at \'tools[0].function_declarations[0].parameters.properties[0].value\'',
  ],
  [
    'parameters – have one type',
    parameters({ ...city, nullable: true }),
    parameters({ ...city, type: ['object', 'null'] }),
    'Proto field is not repeating, cannot start list.',
  ],
  [
    'parameters – have properties if there is the field',
    parameters({ type: 'OBJECT' }),
    parameters({ type: 'OBJECT', properties: {} }),
    'should be non-empty for OBJECT type',
  ],
  [
    'parameters – arrays have items',
    parameters({ ...city, properties: { a: { type: 'ARRAY', items: { type: 'STRING' } } } }),
    parameters({ ...city, properties: { a: { type: 'ARRAY' } } }),
    'properties[0].value.items: missing field.',
  ],
  ['Mode – is a documented one', calling({ mode: 'ANY' }), calling({ mode: 'required' }), 'config.mode'],
  [
    'Mode – needs declarations',
    calling({ mode: 'NONE' }),
    { toolConfig: { functionCallingConfig: { mode: 'NONE' } } },
    'Function calling config is set without function_declarations.',
  ],
  [
    'Generation config – has documented fields',
    config({ topK: 5 }),
    config({ maxTokens: 5 }),
    'Unknown name "maxTokens" at \'generation_config\'',
  ],
  ['stopSequences – are at most 5', stops(5), stops(6), 'stopSequences value of 6'],
  [
    'temperature – is between 0 and 2',
    config({ temperature: 2 }),
    config({ temperature: 2.1 }),
    'generation_config.temperature',
  ],
  ['topP – is between 0 and 1', config({ topP: 1 }), config({ topP: 1.1 }), 'generation_config.top_p'],
  [
    'candidateCount – is between 1 and 8',
    config({ candidateCount: 8 }),
    config({ candidateCount: 9 }),
    'candidateCount value of 9',
  ],
  [
    'maxOutputTokens – is at least 1',
    config({ maxOutputTokens: 1 }),
    config({ maxOutputTokens: 0 }),
    'maxOutputTokens value of 0',
  ],
  [
    'seed – has 32 bits',
    config({ seed: 2 ** 31 - 1 }),
    config({ seed: 2 ** 31 }),
    "Invalid value at 'generation_config.seed' (TYPE_INT32)",
  ],
  [
    'responseSchema – has the keywords of OpenAPI',
    config({ responseSchema: city, responseMimeType: 'application/json' }),
    config({ responseSchema: { $schema: 'x' }, responseMimeType: 'application/json' }),
    'Unknown name "$schema" at \'generation_config.response_schema\'',
  ],
  [
    'Thinking – has documented fields',
    thinking({ includeThoughts: true }),
    thinking({ effort: 'low' }),
    'Unknown name "effort" at \'generation_config.thinking_config\'',
  ],
  [
    'Thinking – has a documented level',
    thinking({ thinkingLevel: 'low' }),
    thinking({ thinkingLevel: 'max' }),
    "Invalid value at 'generation_config.thinking_config.thinking_level'",
  ],
  [
    'Thinking – has a level or a budget',
    thinking({ thinkingBudget: -1 }),
    thinking({ thinkingBudget: 0, thinkingLevel: 'LOW' }),
    'You can only set only one of thinking budget and thinking level.',
  ],
  [
    'Thinking – has at most the largest budget',
    thinking({ thinkingBudget: 32_768 }),
    thinking({ thinkingBudget: 52_428 }),
    'The thinking budget (52428) is invalid.',
  ],
]

describe('Strict generateContent', () => {
  for (const [title, accepted, rejected, message] of rules) {
    test(title, () => {
      assert.equal(findGeminiProblem({ contents: [user], ...accepted }), undefined)
      const problem = findGeminiProblem({ contents: [user], ...rejected })
      assert.ok(problem)
      const { error } = problem.error
      assert.deepEqual([problem.status, error.code, error.status], [400, 400, 'INVALID_ARGUMENT'])
      assert.ok(error.message.includes(message), error.message)
    })
  }
})
