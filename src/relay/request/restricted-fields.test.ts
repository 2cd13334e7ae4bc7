import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { takesField } from '../routing/restricted-routes.ts'
import { readMessagesRequest } from './messages-request.ts'
import { offeredSearches } from './offered-searches.ts'
import { readChatRequest } from './request-body.ts'
import type { RestrictedField } from './restricted-fields.ts'

type Format = 'chat' | 'messages'

function restrictedIn(format: Format, fields: object | string, beta?: string): readonly RestrictedField[] {
  const members = typeof fields === 'string' ? fields : JSON.stringify(fields).slice(1, -1)
  const comma = members === '' ? '' : ','
  const body = Buffer.from(
    `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]${comma}${members}}`,
  )
  if (format === 'chat') return readChatRequest(body).restricted
  return readMessagesRequest(body, { headers: { version: undefined, beta }, isTokenCount: false }).restricted
}

interface UpstreamOfTest {
  readonly provider: string
  readonly allowedFields?: readonly string[]
  readonly perSearch?: bigint
}

/** The fields that an upstream does not take. */
function rejectedBy(
  { provider, allowedFields = [], perSearch }: UpstreamOfTest,
  fields: readonly RestrictedField[],
): string[] {
  const price = perSearch === undefined ? {} : { perSearch }
  return fields
    .filter((field) => !takesField(field, { provider, settings: { allowedFields } }, price))
    .map(({ param }) => param)
}

const synonyms = {
  n_predict: 9,
  num_predict: 9,
  max_new_tokens: 9,
  max_output_tokens: 9,
  max_length: 9,
  min_tokens: 9,
  ignore_eos: true,
}
const stateFields = [
  'thread',
  'container',
  'fallbacks',
  'compaction',
  'billing_policy',
  'user_profile_id',
  'workspace_id',
]
const chosenByGateways = {
  models: ['other'],
  route: 'fallback',
  provider: { order: ['Azure'] },
  preset: 'mine',
  plugins: [{ id: 'file-parser' }],
  transforms: ['middle-out'],
  providerOptions: { gateway: { models: ['other'] } },
}
const audioOutput = { modalities: ['text', 'audio'], audio: { voice: 'alloy' } }

/** [providers, fields of a request, those that their upstreams do not take] */
const chatRules: readonly (readonly [providers: string, fields: object, rejected: readonly string[]])[] = [
  ['openai azure anthropic gemini ollama vllm openrouter', synonyms, Object.keys(synonyms)],
  ['openai anthropic ollama', { min_tokens: 0, ignore_eos: false, n_predict: null }, []],
  [
    'ollama openai',
    { options: { num_predict: 99, num_ctx: 9, max_tokens: 9 } },
    ['options.num_predict', 'options.max_tokens'],
  ],
  [
    'vllm',
    { extra_body: { Max_Tokens: 99, options: { n_predict: 1 } } },
    ['extra_body.max_tokens', 'extra_body.options.n_predict'],
  ],
  [
    'openai-compatible vllm gemini',
    {
      candidate_count: 5,
      num_generations: 5,
      num_return_sequences: 2,
      best_of: 2,
      extra_body: { n: 5, candidateCount: 5 },
      options: { n: 2 },
    },
    [
      'candidate_count',
      'num_generations',
      'num_return_sequences',
      'best_of',
      'extra_body.n',
      'extra_body.candidateCount',
      'options.n',
    ],
  ],
  ['openai-compatible', { n: 5, candidate_count: 1, extra_body: { n: 1 } }, []],
  [
    'openai-compatible',
    { parameters: { max_new_tokens: 5, models: [] }, nvext: { ignore_eos: true } },
    ['parameters.max_new_tokens', 'nvext.ignore_eos'],
  ],
  [
    'openai-compatible',
    { extra_body: { models: ['a'], tools: [{}], service_tier: 'default' } },
    ['extra_body.models', 'extra_body.tools'],
  ],
  ['openrouter openai-compatible', chosenByGateways, Object.keys(chosenByGateways)],
  ['openai deepseek qwen', chosenByGateways, []],
  ['anthropic openrouter vertex', { speed: 'fast', inference_geo: 'us' }, ['speed', 'inference_geo']],
  ['anthropic', { speed: 'standard', inference_geo: 'global' }, []],
  ['openai groq', { speed: 'fast', inference_geo: 'us' }, []],
  ['openai anthropic ollama', Object.fromEntries(stateFields.map((name) => [name, 'id_1'])), stateFields],
  ['openai groq gemini', { service_tier: 'priority' }, ['service_tier']],
  ['openai', { service_tier: 7 }, ['service_tier']],
  ['openai', audioOutput, ['modalities']],
  ['openai', { modalities: ['text'] }, []],
  [
    'xai openai-compatible',
    { deferred: true, search_parameters: { mode: 'auto' } },
    ['deferred', 'search_parameters'],
  ],
  ['xai', { deferred: false, search_parameters: { mode: 'off' } }, []],
  ['qwen', { enable_search: true }, ['enable_search']],
  ['qwen', { enable_search: false }, []],
  ['perplexity openai', { web_search_options: {} }, ['web_search_options']],
  ['azure', { data_sources: [{ type: 'azure_search' }] }, ['data_sources']],
  ['minimax', { tokens_to_generate: 9 }, ['tokens_to_generate']],
  [
    'openai',
    {
      tools: [
        { type: 'function', function: { name: 'a' } },
        { type: 'custom', custom: { name: 'b' } },
      ],
    },
    [],
  ],
  [
    'zhipu',
    {
      tools: [
        { type: 'function', function: { name: 'a' } },
        { type: 'web_search', web_search: {} },
      ],
    },
    ['tools[1].type'],
  ],
  [
    'moonshot',
    { tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] },
    ['tools[0].type'],
  ],
  ['gemini openai', { tools: [{ googleSearch: {} }, { function: { name: 'a' } }] }, ['tools[0].type']],
]

describe('restricted fields', () => {
  test('each provider – takes no field of its list in a chat completion', () => {
    for (const [providers, fields, rejected] of chatRules) {
      for (const provider of providers.split(' ')) {
        const found = rejectedBy({ provider }, restrictedIn('chat', fields))
        assert.deepEqual(found.toSorted(), rejected.toSorted(), `${provider} ${JSON.stringify(fields)}`)
      }
    }
  })

  test('Messages – have the same rules, and none for the tools that the caller runs', () => {
    const anthropic = { provider: 'anthropic' }
    const rejected = (fields: object): string[] => rejectedBy(anthropic, restrictedIn('messages', fields))
    assert.deepEqual(
      rejected({ ...synonyms, max_completion_tokens: 9 }).toSorted(),
      [...Object.keys(synonyms), 'max_completion_tokens'].toSorted(),
    )
    for (const name of stateFields) assert.deepEqual(rejected({ [name]: 'id_1' }), [name])
    assert.deepEqual(rejected({ speed: 'fast' }), ['speed'])
    assert.deepEqual(rejected({ mcp_servers: [{ url: 'https://a.example' }] }), ['mcp_servers'])
    const free = ['bash_20250124', 'text_editor_20250728', 'computer_20251124', 'memory_20250818', 'custom']
    const tools = [...free, 'tool_search_tool_regex_20251119'].map((type) => ({ type, name: 'tool' }))
    assert.deepEqual(rejected({ tools: [...tools, { name: 'untyped', input_schema: {} }] }), [])
    for (const type of [
      'web_search_20250305',
      'code_execution_20250825',
      'web_fetch_20250910',
      'advisor_20260301',
      'mcp_toolset',
      'new',
    ])
      assert.deepEqual(rejected({ tools: [...tools, { type, name: 'x' }] }), ['tools[6].type'], type)
  })

  test('betas – only those that cost more are restricted, and only at Anthropic', () => {
    const betas =
      'claude-code-20250219,interleaved-thinking-2025-05-14,context-1m-2025-08-07,oauth-2025-04-20'
    assert.deepEqual(restrictedIn('messages', {}, betas), [])
    const fast = restrictedIn('messages', {}, `${betas}, Fast-Mode-2026-02-01`)
    assert.deepEqual(rejectedBy({ provider: 'anthropic' }, fast), ['anthropic-beta'])
    assert.deepEqual(rejectedBy({ provider: 'openai' }, fast), [])
    assert.deepEqual(rejectedBy({ provider: 'anthropic', allowedFields: ['fast-mode-2026-02-01'] }, fast), [])
    for (const name of ['betas', 'anthropic_beta']) {
      const fields = restrictedIn('messages', { [name]: ['fast-mode-2026-02-01', 'oauth-2025-04-20'] })
      assert.deepEqual(rejectedBy({ provider: 'vertex' }, fields), [name])
    }
  })

  test('allowed_fields – lists a field by its path or name, or a tool by its type', () => {
    const fields = {
      n_predict: 9,
      options: { num_predict: 9 },
      tools: [{ type: 'code_execution_20250825', name: 'x' }],
    }
    const found = restrictedIn('messages', fields)
    const allowed = (...allowedFields: string[]): string[] =>
      rejectedBy({ provider: 'anthropic', allowedFields }, found)
    assert.deepEqual(allowed('n_predict'), ['options.num_predict', 'tools[0].type'])
    assert.deepEqual(allowed('n_predict', 'num_predict', 'code_execution'), [])
    assert.deepEqual(allowed('n_predict', 'options.num_predict', 'code_execution_20250825'), [])
    assert.deepEqual(allowed('n_predict', 'num_predict', 'tools'), [])
    assert.deepEqual(allowed('other'), ['n_predict', 'options.num_predict', 'tools[0].type'])
  })

  test('web searches – are covered by a price per search, other hosted tools are not', () => {
    for (const fields of [
      { web_search_options: {} },
      { enable_search: true },
      { plugins: [{ id: 'web', max_results: 3 }] },
      { tools: [{ type: 'web_search_preview' }, { type: 'openrouter:web_search' }] },
      { tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] },
    ]) {
      const found = restrictedIn('chat', fields)
      assert.notEqual(found.length, 0)
      assert.deepEqual(rejectedBy({ provider: 'openai-compatible', perSearch: 0n }, found), [])
      assert.notDeepEqual(rejectedBy({ provider: 'openai-compatible' }, found), [])
    }
    const hosted = restrictedIn('chat', {
      tools: [{ type: 'code_interpreter' }],
      plugins: [{ id: 'web' }, { id: 'pdf' }],
    })
    assert.equal(rejectedBy({ provider: 'openrouter', perSearch: 5n }, hosted).length, 2)
  })

  test('look-alikes – of a listed name are rejected, as parsers that ignore case read them', () => {
    for (const [name, listed] of [
      ['N_Predict', 'n_predict'],
      ['Models', 'models'],
      ['ſpeed', 'speed'],
      ['Tools', 'tools'],
      ['Thread', 'thread'],
      ['OPTIONS', 'options'],
    ] as const) {
      for (const format of ['chat', 'messages'] as const)
        assert.throws(() => restrictedIn(format, { [name]: {} }), {
          message: new RegExp(`\`${listed}\``),
        })
    }
  })

  test('tools – are found however their type is written', () => {
    for (const tool of [
      '{"type":"web_search_20250305","type":"bash_20250124","name":"x"}',
      '{"Type":"web_search_20250305","type":"bash_20250124","name":"x"}',
      '{"\\u0074ype":"web_search_20250305","name":"x"}',
      '{"name":"x","type":"Custom"}',
      '{"type":["custom"],"name":"x"}',
    ]) {
      const [found] = restrictedIn('messages', `"tools":[${tool}]`)
      assert.equal(found?.param, 'tools[0].type', tool)
    }
    for (const tools of [
      '[]',
      '{}',
      '[7,null]',
      '"x"',
      'null',
      '[{"type":"\\u0063ustom","type":null,"name":"x"}]',
    ])
      assert.doesNotThrow(() => restrictedIn('messages', `"tools":${tools}`))
  })
})

describe('offered searches', () => {
  test('max_uses – is the maximum, added over the tools; without it there is none', () => {
    const tool = { type: 'web_search_20250305', name: 'web_search' }
    const offered = (fields: object): unknown =>
      offeredSearches({ restricted: restrictedIn('messages', fields) }, [
        { upstream: { provider: 'anthropic' }, upstreamModel: 'm' },
      ])
    assert.equal(offered({}), null)
    assert.equal(offered({ tools: [{ name: 'x', input_schema: {} }] }), null)
    assert.deepEqual(offered({ tools: [tool] }), { maximum: null })
    assert.deepEqual(offered({ tools: [{ ...tool, max_uses: 3 }] }), { maximum: 3 })
    assert.deepEqual(
      offered({
        tools: [
          { ...tool, max_uses: 3 },
          { ...tool, max_uses: 2 },
        ],
      }),
      { maximum: 5 },
    )
    assert.deepEqual(offered({ tools: [{ ...tool, max_uses: 3 }, tool] }), { maximum: null })
    for (const odd of [-1, 1.5, '3', 1e300])
      assert.deepEqual(offered({ tools: [{ ...tool, max_uses: odd }] }), { maximum: null })
  })

  test('providers – count: some search by themselves, others do not have the field', () => {
    const offered = (provider: string, fields: object, upstreamModel = 'm'): unknown =>
      offeredSearches({ restricted: restrictedIn('chat', fields) }, [
        { upstream: { provider }, upstreamModel },
      ])
    assert.deepEqual(offered('perplexity', {}), { maximum: null })
    assert.deepEqual(offered('openai', {}, 'gpt-4o-search-preview'), { maximum: null })
    assert.deepEqual(offered('openrouter', {}, 'x/y:online'), { maximum: null })
    assert.equal(offered('openai', { enable_search: true }), null)
    assert.deepEqual(offered('qwen', { enable_search: true }), { maximum: null })
  })
})
