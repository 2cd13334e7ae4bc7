/** Which models an upstream says it has. */
import type { Catalog } from '../catalog/catalog.ts'
import { refuse } from '../errors.ts'
import type { UpstreamModels } from '../http/house.ts'
import { providerOf } from '../providers/registry.ts'
import { askOnce } from '../relay/ask-once.ts'
import type { AttemptMeans } from '../relay/failover.ts'
import { faultOfSending } from '../relay/fault-of-sending.ts'
import { faultOfStatus } from '../relay/routing/upstream-error.ts'

/** Some have thousands of models, described at length. */
const mostBytes = 16_777_216

const without = (status: number | null, message: string): UpstreamModels => ({
  ok: false,
  status,
  message,
  models: [],
})

export async function fetchModels(
  catalog: Catalog,
  means: AttemptMeans,
  upstreamId: string,
): Promise<UpstreamModels> {
  const upstream = catalog.upstream(upstreamId)
  const provider = providerOf(upstream?.provider ?? '')
  if (!upstream || !provider) throw refuse('not_found', { message: 'There is no such upstream.' })
  const { credential, timeouts, proxy } = upstream
  const list = provider.models?.(upstream)
  if (!list) return without(null, `${provider.title} has no list of models that can be asked for here.`)
  try {
    const call = { url: list.url, headers: list.headers, body: [], method: 'GET', mostBytes } as const
    const answer = await askOnce(call, { client: means.client, timeouts, proxy })
    if (answer.status !== 200) {
      const about = { credential, now: means.now(), provider }
      return without(answer.status, faultOfStatus({ ...answer, errorType: null }, about).message)
    }
    const models = namesIn(answer.bytes, list.namesOf)
    if (models === null) return without(200, 'The upstream did not answer with a list of models.')
    return { ok: true, status: 200, message: `It has ${models.length} models.`, models }
  } catch (error) {
    return without(null, faultOfSending(error).message)
  }
}

function namesIn(bytes: Buffer, namesOf: (body: unknown) => readonly string[]): string[] | null {
  try {
    return [...new Set(namesOf(JSON.parse(bytes.toString('utf8'))))].toSorted()
  } catch {
    return null
  }
}
