import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { isContextTooLong } from './context-errors.ts'

/** Errors as the providers report them: the provider, the status, the message and, if there is one, the code. */
const reported: readonly (readonly [string, number, string, string?])[] = [
  [
    'openai',
    400,
    "This model's maximum context length is 8192 tokens. However, you requested 10000 tokens.",
    'context_length_exceeded',
  ],
  ['openai', 400, 'Input tokens exceed the configured limit of 272000 tokens. Your messages are longer.'],
  ['openai', 200, 'Your input exceeds the context window of this model.', 'context_length_exceeded'],
  ['azure', 400, "This model's maximum context length is 128000 tokens."],
  ['anthropic', 400, 'prompt is too long: 209353 tokens > 199999 maximum'],
  ['anthropic', 400, 'input length and `max_tokens` exceed context limit: 149674 + 64000 > 204658'],
  ['gemini', 400, 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).'],
  [
    'vertex',
    400,
    'Unable to submit request because the input token count is 33154 but model only supports up to 32768.',
  ],
  ['vertex', 400, 'prompt is too long: 209353 tokens > 200000 maximum'],
  ['bedrock', 400, 'Input is too long for requested model.'],
  [
    'bedrock',
    400,
    'The model returned the following errors: prompt is too long: 200049 tokens > 200000 maximum',
  ],
  ['cohere', 400, 'too many tokens: total number of tokens in the prompt cannot exceed 128000'],
  [
    'deepseek',
    400,
    "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion).",
    'invalid_request_error',
  ],
  [
    'qwen',
    400,
    '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]',
    'invalid_parameter_error',
  ],
  [
    'moonshot',
    400,
    'Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)',
    'invalid_request_error',
  ],
  ['zhipu', 400, 'Prompt 超长', '1261'],
  ['zhipu', 400, 'Prompt exceeds max length'],
  ['doubao', 400, 'Total tokens of image and text exceed max message tokens.', 'InvalidParameter'],
  ['ernie', 400, 'prompt tokens too long'],
  ['minimax', 400, 'invalid params, context window exceeds limit'],
  ['siliconflow', 400, 'length of prompt_tokens (33000) must be less than max_seq_len (32768).'],
  [
    'mistral',
    400,
    'Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
  ],
  ['groq', 400, 'Please reduce the length of the messages or completion.', 'context_length_exceeded'],
  ['xai', 400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ['together', 422, 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769.'],
  ['fireworks', 400, 'The prompt is too long: 8193, model maximum context length: 8191'],
  ['vllm', 400, 'The decoder prompt (length 10127) is longer than the maximum model length of 8192.'],
  ['ollama', 400, 'request (35999 tokens) exceeds the available context size (32768 tokens)'],
  ['openai-compatible', 400, 'the request exceeds the available context size, try increasing it'],
  ['openrouter', 400, "This endpoint's maximum context length is 131072 tokens."],
]

describe('isContextTooLong', () => {
  test('Each provider’s error is recognized by its code or its words', () => {
    for (const [provider, status, message, code = null] of reported)
      assert.ok(isContextTooLong(provider, { status, code, message }), message)
    const raw = '{"error":{"message":"prompt is too long: 210266 tokens > 200000 maximum"}}'
    const wrapped = { status: 400, code: null, message: 'Provider returned error' }
    assert.ok(isContextTooLong('openrouter', { ...wrapped, raw }))
    assert.ok(!isContextTooLong('openrouter', wrapped))
  })

  test('Other errors are not', () => {
    for (const [provider, status, message] of [
      ['openai', 429, 'Please reduce the length of the messages.'],
      ['openai', 400, "Invalid 'tools[0].function.name': string too long."],
      ['anthropic', 400, 'max_tokens: 99999 > 64000, which is the maximum allowed number of output tokens'],
      ['anthropic', 413, 'Request exceeds the maximum size'],
      ['doubao', 400, 'The parameter max_tokens specified in the request are not valid'],
      ['cohere', 400, 'max_tokens must be less than or equal to 4096'],
    ] as const)
      assert.ok(!isContextTooLong(provider, { status, code: null, message }), message)
  })
})
