/** The routes of a model: upstreams, the model's name there and whether callers see it, priority, weight and cost. */
import { Checkbox, NativeSelect, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { upstreamsQuery } from '../../api/admin-queries.ts'
import { useMessages } from '../../locales/messages.ts'
import type { Model } from '../../api/contract.ts'
import { CostFields, costDraftFrom, costsFromDraft, type CostDraft } from './cost-fields.tsx'
import { integerText, optionalInteger } from './field-values.ts'
import { RemoveRowButton, rowChanges, RowGroup } from './row-group.tsx'

export interface RouteDraft {
  readonly upstream: string
  readonly model: string
  /** Empty inherits the upstream's priority. */
  readonly priority: string
  /** Empty inherits the upstream's weight. */
  readonly weight: string
  readonly exposeModel: boolean
  readonly cost: CostDraft
}

export function routeDraftsFrom(routes: Model['routes']): readonly RouteDraft[] {
  return routes.map(({ upstream, model, priority, weight, expose_model: exposeModel, cost }) => ({
    upstream,
    model,
    priority: integerText(priority),
    weight: integerText(weight),
    exposeModel,
    cost: costDraftFrom(cost),
  }))
}

export function routesFromDrafts(drafts: readonly RouteDraft[]) {
  return drafts
    .filter(({ upstream }) => upstream !== '')
    .map(({ upstream, model, priority, weight, exposeModel, cost }) => ({
      upstream,
      model: model.trim(),
      priority: optionalInteger(priority),
      weight: optionalInteger(weight),
      expose_model: exposeModel,
      cost: costsFromDraft(cost),
    }))
}

export interface RouteFieldsProps {
  /** The public model id, the default for the name at an upstream. */
  readonly modelId: string
  readonly routes: readonly RouteDraft[]
  readonly set: (routes: readonly RouteDraft[]) => void
}

export function RouteFields({ modelId, routes, set }: RouteFieldsProps) {
  const t = useMessages('catalog').routes
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  const { change, remove } = rowChanges(routes, set)
  const add = (): void => {
    const unused = upstreams.find(({ id }) => !routes.some(({ upstream }) => upstream === id))
    const upstream = unused?.id ?? upstreams[0]?.id ?? ''
    const cost = costDraftFrom(null)
    set([...routes, { upstream, model: modelId, priority: '', weight: '', exposeModel: false, cost }])
  }
  return (
    <RowGroup legend={t.legend} addLabel={t.add} add={add} canAdd={upstreams.length > 0}>
      {routes.length === 0 && <p className="muted">{t.none}</p>}
      {routes.map((route, at) => (
        <div className="route-row" key={`${at} ${route.upstream}`}>
          <NativeSelect
            label={t.upstream}
            data={upstreams.map(({ id, name, enabled }) => ({
              value: id,
              label: enabled ? name : `${name} (${t.off})`,
            }))}
            value={route.upstream}
            onChange={(event) => change(at, { upstream: event.currentTarget.value })}
          />
          <TextInput
            label={t.model}
            required
            value={route.model}
            onChange={(event) => change(at, { model: event.currentTarget.value })}
          />
          <TextInput
            label={t.priority}
            placeholder={t.inherited}
            inputMode="numeric"
            value={route.priority}
            onChange={(event) => change(at, { priority: event.currentTarget.value })}
          />
          <TextInput
            label={t.weight}
            placeholder={t.inherited}
            inputMode="numeric"
            value={route.weight}
            onChange={(event) => change(at, { weight: event.currentTarget.value })}
          />
          <RemoveRowButton label={t.remove} remove={() => remove(at)} />
          {route.model.trim() !== modelId.trim() && (
            <Checkbox
              className="route-option"
              label={t.exposeModel}
              checked={route.exposeModel}
              onChange={(event) => change(at, { exposeModel: event.currentTarget.checked })}
            />
          )}
          <CostFields
            draft={route.cost}
            set={(name, value) => change(at, { cost: { ...route.cost, [name]: value } })}
            lead={t.costLead}
            whenEmpty={t.inherited}
          />
        </div>
      ))}
    </RowGroup>
  )
}
