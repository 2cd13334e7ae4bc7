import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import type { Json } from '../json-fields.ts'
import { UnsupportedFeatureError } from '../provider.ts'
import { fitVertexRequest } from './claude-betas.ts'

const tool = { name: 'clock', input_schema: { type: 'object' } }
const unchanged = { betas: [], changed: {}, dropped: [] }

function rejectedParam(request: Json, betas: readonly string[] = []): string {
  try {
    fitVertexRequest(request, betas)
  } catch (error) {
    if (error instanceof UnsupportedFeatureError) return error.param
    throw error
  }
  return 'accepted'
}

describe('Claude’s betas at Vertex AI', () => {
  test('A name that Vertex does not know leaves with the fields that need it', () => {
    const cached = { type: 'ephemeral', ttl: '1h', scope: 'global' }
    const own = { cache_control: { scope: 'mine' } }
    const request = {
      system: [{ type: 'text', text: 'Hi', cache_control: cached }],
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'clock', input: own }] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', cache_control: cached }] },
          ],
        },
      ],
      tools: [{ ...tool, cache_control: cached, eager_input_streaming: true }],
      cache_control: cached,
      output_config: { effort: 'low', task_budget: { total: 9 } },
    }
    const betas = ['prompt-caching-scope-2026-01-05', 'oauth-2025-04-20', 'interleaved-thinking-2025-05-14']
    const { betas: sent, changed, dropped } = fitVertexRequest(request, betas)
    assert.deepEqual([sent, dropped], [['interleaved-thinking-2025-05-14'], []])
    const text = JSON.stringify({ ...request, ...changed })
    assert.doesNotMatch(text, /global|eager|budget/)
    assert.match(text, /"input":\{"cache_control":\{"scope":"mine"\}\}/)
    assert.deepEqual(changed['output_config'], { effort: 'low' })
    assert.deepEqual(fitVertexRequest({ messages: request.messages }, []), unchanged)
  })

  test('A feature that has another name there keeps its fields', () => {
    const beta = 'advanced-tool-use-2025-11-20'
    const searched = { ...tool, defer_loading: true }
    const shown = { ...tool, input_examples: [{}] }
    const betasFor = (...tools: readonly Json[]) => fitVertexRequest({ tools }, [beta])
    const search = 'tool-search-tool-2025-10-19'
    assert.deepEqual(betasFor(searched), { ...unchanged, betas: [search] })
    assert.deepEqual(betasFor({ type: 'tool_search_tool_bm25_20251119', name: 's' }).betas, [search])
    assert.deepEqual(betasFor(searched, shown).betas, [search, 'tool-examples-2025-10-29'])
    assert.deepEqual(betasFor(tool), unchanged)
    const format = { type: 'json_schema', schema: {} }
    assert.deepEqual(fitVertexRequest({ output_format: format }, ['structured-outputs-2025-11-13']), {
      betas: [],
      changed: { output_config: { format } },
      dropped: ['output_format'],
    })
  })

  test('A field without which the response would be another one is rejected by name', () => {
    const callers = (...allowed: readonly string[]) => ({ tools: [{ ...tool, allowed_callers: allowed }] })
    assert.equal(rejectedParam(callers('direct', 'code_execution_20250825')), 'tools[0].allowed_callers')
    assert.equal(rejectedParam(callers('direct')), 'accepted')
    assert.equal(rejectedParam({ mcp_servers: [{ url: 'https://a.test' }] }), 'mcp_servers')
    const content = [{ type: 'document', source: { type: 'file', file_id: 'f' } }]
    const byFile = { messages: [{ role: 'user', content }] }
    assert.equal(rejectedParam(byFile, ['files-api-2025-04-14']), 'messages[0].content[0].source.type')
  })
})
