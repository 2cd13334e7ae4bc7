/** What a request used beside text tokens: tokens of images and audio, and calls of the provider's tools. */
import type { RequestRow } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { mediaNames } from '../forms/price-fields.tsx'
import { formatNumber } from '../format.ts'
import { ModelName } from './format-cells.tsx'
import { OperationName } from './operation-name.tsx'

type Units = RequestRow['units']

/** One text for each unit that occurred. */
function useUnitTexts({ tool_calls: calls = {}, ...tokens }: Units): string[] {
  const names = useMessages('prices').form
  const media = mediaNames.flatMap((name) => {
    const count = tokens[`${name}_tokens`]
    return count === undefined ? [] : [`${names[name]} ${formatNumber(count)}`]
  })
  return [...media, ...Object.entries(calls).map(([name, count]) => `${name} × ${formatNumber(count)}`)]
}

/** All units in one line; a dash if there are none. */
export function UnitList({ units }: { readonly units: Units }) {
  return useUnitTexts(units).join(', ') || '–'
}

/** The model of a request, its operation unless it is the usual one, and its units. */
export function RequestedModel({
  model,
  operation,
  units,
}: Pick<RequestRow, 'model' | 'operation' | 'units'>) {
  const texts = useUnitTexts(units)
  return (
    <>
      <ModelName model={model} />
      {operation !== null && operation !== 'chat' && (
        <small>
          <OperationName operation={operation} />
        </small>
      )}
      {texts.map((text) => (
        <small key={text}>{text}</small>
      ))}
    </>
  )
}
