/** Where requests for a model go: upstreams with their own name of it, tried by priority. */
import { ActionIcon, Button, NativeSelect, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { upstreamsQuery } from '../../api/admin-queries.ts'
import { useWords } from '../../language.ts'
import { isWhole } from './fields.tsx'
import { Icon } from '../layout/icon.tsx'

export interface RouteDraft {
  readonly upstream: string
  readonly model: string
  /** Empty is the upstream's own. */
  readonly priority: string
}

export function routesOf(drafts: readonly RouteDraft[]) {
  return drafts
    .filter(({ upstream }) => upstream !== '')
    .map(({ upstream, model, priority }) => ({
      upstream,
      model: model.trim(),
      priority: isWhole(priority) ? Number(priority) : null,
    }))
}

export interface RoutesFieldsProps {
  /** What callers name, as the usual name at an upstream. */
  readonly modelId: string
  readonly routes: readonly RouteDraft[]
  readonly set: (routes: readonly RouteDraft[]) => void
}

export function RoutesFields({ modelId, routes, set }: RoutesFieldsProps) {
  const words = useWords('offer').routes
  const upstreams = useQuery(upstreamsQuery).data?.data ?? []
  const change = (at: number, part: Partial<RouteDraft>): void =>
    set(routes.map((route, index) => (index === at ? { ...route, ...part } : route)))
  const add = (): void => {
    const unused = upstreams.find(({ id }) => !routes.some(({ upstream }) => upstream === id))
    set([...routes, { upstream: unused?.id ?? upstreams[0]?.id ?? '', model: modelId, priority: '' }])
  }
  return (
    <fieldset className="group">
      <legend>{words.legend}</legend>
      <div className="stack">
        {routes.length === 0 && <p className="quiet">{words.none}</p>}
        {routes.map((route, at) => (
          <div className="route-row" key={`${at} ${route.upstream}`}>
            <NativeSelect
              label={words.upstream}
              data={upstreams.map(({ id, name, enabled }) => ({
                value: id,
                label: enabled ? name : `${name} (${words.off})`,
              }))}
              value={route.upstream}
              onChange={(event) => change(at, { upstream: event.currentTarget.value })}
            />
            <TextInput
              label={words.model}
              required
              value={route.model}
              onChange={(event) => change(at, { model: event.currentTarget.value })}
            />
            <TextInput
              label={words.priority}
              placeholder={words.usual}
              inputMode="numeric"
              value={route.priority}
              onChange={(event) => change(at, { priority: event.currentTarget.value })}
            />
            <ActionIcon
              aria-label={words.remove}
              title={words.remove}
              onClick={() => set(routes.filter((_, index) => index !== at))}
            >
              <Icon name="close" />
            </ActionIcon>
          </div>
        ))}
        <Button
          variant="default"
          className="at-start"
          leftSection={<Icon name="plus" />}
          onClick={add}
          disabled={upstreams.length === 0}
        >
          {words.add}
        </Button>
      </div>
    </fieldset>
  )
}
