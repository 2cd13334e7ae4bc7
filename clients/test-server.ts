/**
 * The test server for official clients: a relay with one model for each behavior, once with an upstream of OpenAI's
 * format and once with one of Anthropic's, a model for embeddings, and three accounts: with a balance, without one, and
 * with a key limited to ten tokens per minute. The upstreams reject what the real providers reject.
 */
import type { TestContext } from 'node:test'

import type { Account } from '../test/support/server/account.ts'
import { startTestServer } from '../test/support/server/test-server.ts'
import type { TestServer, RegisteredUpstream } from '../test/support/server/test-server.ts'
import { neverRespond } from '../test/support/upstream/fault-injection.ts'
import { respondWithEmbeddings } from '../test/support/upstream/scripted-responses.ts'
import { strict } from '../test/support/upstream/strict-upstream.ts'
import { scripts } from './upstream-scripts.ts'
import type { Family } from './upstream-scripts.ts'

/** The provider of each family and how its names of models begin, for which it has rules. */
const upstreamKinds = {
  claude: { provider: 'anthropic', format: 'anthropic', prefix: 'claude-sonnet-4-5' },
  other: { provider: 'openai', format: 'openai', prefix: 'gpt-5.2' },
} as const

/** Clients know it by its name. */
const embeddingModel = 'text-embedding-3-small'

export interface ClientTestServer {
  readonly server: TestServer
  readonly upstreams: Readonly<Record<Family, RegisteredUpstream>>
  readonly rich: Account
  readonly poor: Account
  readonly limited: Account
}

export async function startClientTestServer(t: TestContext): Promise<ClientTestServer> {
  const server = await startTestServer(t)
  const open = async (family: Family): Promise<RegisteredUpstream> => {
    const { provider, format, prefix } = upstreamKinds[family]
    const upstream = await server.upstream(neverRespond, { provider, speaks: [] })
    for (const [name, script] of Object.entries(scripts[family])) {
      const model = `${prefix}-${name}`
      // OpenAI itself has no readable reasoning: this one responds like DeepSeek, which wants it back.
      const isReasoning = name === 'thinking' && format === 'openai'
      upstream.forModel(model, isReasoning ? script : strict(format, script))
      const routes = [{ upstream: upstream.name, model, priority: 1 }]
      await server.model(`${family}-${name}`, { upstreams: [], routes })
    }
    return upstream
  }
  const upstreams = { claude: await open('claude'), other: await open('other') }
  upstreams.other.forModel(embeddingModel, respondWithEmbeddings(2))
  await server.model(embeddingModel, { upstreams: [upstreams.other], operations: ['embeddings'] })
  return {
    server,
    upstreams,
    rich: await server.account({ balance: '¥10' }),
    poor: await server.account(),
    limited: await server.account({ balance: '¥1', key: { limits: { tpm: 10 } } }),
  }
}
