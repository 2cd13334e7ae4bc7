/** What a change of an upstream, credential or model affects: models, and requests of the last 24 hours. */
import { useQuery } from '@tanstack/react-query'
import { credentialsQuery, flowQuery, modelsQuery, upstreamsQuery } from '../../api/admin-queries.ts'
import type { Credential, Model, Upstream } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { formatNumber } from '../format.ts'

const maxNames = 5

function formatNames(models: readonly Model[]): string {
  const names = models.slice(0, maxNames).map(({ id }) => id)
  const rest = models.length - names.length
  return [...names, ...(rest > 0 ? [`+${rest}`] : [])].join(', ')
}

export interface AffectedRequestsProps {
  readonly kind: 'upstream' | 'model'
  readonly id: string
  /** What happens to the upstream or model itself. */
  readonly text: string
}

/** The requests over an upstream or for a model. */
export function AffectedRequests({ kind, id, text }: AffectedRequestsProps) {
  return (
    <>
      <p>{text}</p>
      <p>
        <RequestCount kind={kind} id={id} />
      </p>
    </>
  )
}

function RequestCount({ kind, id }: Pick<AffectedRequestsProps, 'kind' | 'id'>) {
  const t = useMessages('traffic').effects
  const shell = useMessages('shell')
  const flow = useQuery(flowQuery)
  if (flow.data === undefined) return flow.isPending && shell.loading
  const countRequests = (paths: typeof flow.data.data): number =>
    paths.reduce((sum, path) => sum + path.requests, 0)
  const { complete, requests, data } = flow.data
  const paths = data.filter((path) => path[kind] === id)
  const count = countRequests(paths)
  // A busy relay reports only its newest requests and busiest paths.
  const isExact = complete && countRequests(data) === requests
  if (count === 0) return isExact && t.noRequests[kind]
  const keys = new Set(paths.map(({ key }) => key)).size
  return t.requests[kind](formatNumber(count), keys, isExact)
}

function useRoutedModels(upstreamId: string): readonly Model[] {
  const models = useQuery(modelsQuery).data?.data ?? []
  return models.filter(({ routes }) => routes.some(({ upstream }) => upstream === upstreamId))
}

export function DisableUpstreamEffect({ upstream }: { readonly upstream: Upstream }) {
  const t = useMessages('traffic').effects
  const { sentenceGap } = useMessages('shell')
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  const models = useRoutedModels(upstream.id)
  const others = new Set(
    upstreams.filter(({ id, enabled }) => enabled && id !== upstream.id).map(({ id }) => id),
  )
  const unserved = models.filter(({ routes }) => !routes.some((route) => others.has(route.upstream)))
  const texts = [
    models.length === 0 ? t.noModels : t.upstreamDisabled,
    ...(models.length === 0 ? [] : [t.models(models.length, formatNames(models))]),
    ...(unserved.length === 0 ? [] : [t.unserved(unserved.length, formatNames(unserved))]),
  ]
  return <AffectedRequests kind="upstream" id={upstream.id} text={texts.join(sentenceGap)} />
}

export function DeleteUpstreamEffect({ upstream }: { readonly upstream: Upstream }) {
  const t = useMessages('traffic').effects
  const { sentenceGap } = useMessages('shell')
  const models = useRoutedModels(upstream.id)
  const credentials = useQuery(credentialsQuery(upstream.id)).data?.data.length
  if (models.length > 0) return t.stillRouted(models.length, formatNames(models))
  return (
    <p>
      {t.noModels}
      {sentenceGap}
      {credentials !== undefined && credentials > 0 && t.credentialsDeleted(credentials)}
    </p>
  )
}

export interface CredentialEffectProps {
  readonly upstream: Upstream
  readonly credential: Credential
  /** What happens to the credential itself. */
  readonly text: string
}

export function CredentialEffect({ upstream, credential, text }: CredentialEffectProps) {
  const t = useMessages('traffic').effects
  const { sentenceGap } = useMessages('shell')
  const all = useQuery(credentialsQuery(upstream.id)).data?.data ?? []
  const others = all.filter(({ id, enabled }) => enabled && id !== credential.id).length
  return (
    <AffectedRequests
      kind="upstream"
      id={upstream.id}
      text={[text, t.otherCredentials(others)].join(sentenceGap)}
    />
  )
}
