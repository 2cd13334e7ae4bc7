/** Fetches the list of an upstream's models. */
import type { Catalog } from '../../catalog/catalog.ts'
import { notFound } from '../../errors.ts'
import type { UpstreamModels } from '../../health/upstream-tests.ts'
import { findProvider } from '../../providers/registry.ts'
import { sendAuxiliaryRequest } from '../routing/auxiliary-request.ts'
import type { AttemptDeps } from '../request-context.ts'
import { upstreamErrorFromException } from '../routing/upstream-transport.ts'
import { upstreamErrorFromResponse } from '../routing/upstream-error.ts'

/** Some upstreams list thousands of models with long descriptions. */
const maxBytes = 16_777_216

const unavailable = (status: number | null, message: string): UpstreamModels => ({
  ok: false,
  status,
  message,
  models: [],
})

export async function fetchModels(
  catalog: Catalog,
  context: AttemptDeps,
  upstreamId: string,
): Promise<UpstreamModels> {
  const upstream = catalog.upstream(upstreamId)
  const provider = findProvider(upstream?.provider ?? '')
  if (!upstream || !provider) throw notFound('Upstream')
  const list = provider.buildModelListRequest?.(upstream)
  if (!list) return unavailable(null, `${provider.title} does not offer a list of models here.`)
  try {
    const { url, headers } = list
    const request = { url, headers, body: [], method: 'GET', maxBytes } as const
    const response = await sendAuxiliaryRequest(context.client, request, upstream)
    if (response.status !== 200) {
      const about = { credential: upstream.credential, now: context.now(), provider }
      return unavailable(
        response.status,
        upstreamErrorFromResponse({ ...response, errorType: null }, about).message,
      )
    }
    const models = parseModelNames(response.bytes, list.parseNames)
    if (models === null) return unavailable(200, 'The response is not a list of models.')
    return { ok: true, status: 200, message: `The upstream lists ${models.length} models.`, models }
  } catch (error) {
    return unavailable(null, upstreamErrorFromException(error).message)
  }
}

function parseModelNames(bytes: Buffer, namesOf: (body: unknown) => readonly string[]): string[] | null {
  try {
    return [...new Set(namesOf(JSON.parse(bytes.toString('utf8'))))].toSorted()
  } catch {
    return null
  }
}
