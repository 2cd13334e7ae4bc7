// @suite all – runs a client
// @drives a client
/** LlamaIndex for Python: its embeddings. */
import assert from 'node:assert/strict'

import { pythonClient, testClient, type Scenario } from '../client-program.ts'

const families = ['other'] as const

const scenarios: Readonly<Record<string, Scenario>> = {
  'Texts – are embedded one by one, in batches and asynchronously': { name: 'texts', families },
  'Dimensions – reach the upstream': {
    name: 'dimensions',
    families,
    after: ({ upstreams }) => assert.equal(upstreams.other.requests.at(-1)?.json['dimensions'], 3),
  },
  'Index – embeds its documents and the query': { name: 'index', families },
  'Errors – become the error classes of OpenAI’s library': { name: 'errors', families },
}

testClient(
  {
    title: 'LlamaIndex for Python',
    guide: 'llamaindex',
    generations: { 0: pythonClient('llamaindex-python', 0) },
    sample: { model: 'text-embedding-3-small', output: '3' },
  },
  scenarios,
)
