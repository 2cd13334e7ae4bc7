/** The four rate limits: as form fields, and as the text of a requested increase. */
import type { LimitRequest } from '../../api/contract.ts'
import { useMessages } from '../../locales/messages.ts'
import { formatNumber } from '../format.ts'
import { IntegerField } from './fields.tsx'

export const limitNames = ['rpm', 'tpm', 'rpd', 'concurrency'] as const
export type LimitName = (typeof limitNames)[number]

export interface LimitFieldsProps {
  readonly placeholder: string
  /** Binds a limit to its field. */
  readonly field: (name: LimitName) => {
    readonly name: string
    readonly value: string
    readonly onChange: (event: { currentTarget: { value: string } }) => void
  }
  /** The error of the server about a limit. */
  readonly fieldError: (name: LimitName) => string | undefined
}

export function LimitFields({ placeholder, field, fieldError }: LimitFieldsProps) {
  const { limits } = useMessages('shell')
  return limitNames.map((name) => (
    <IntegerField
      key={name}
      label={limits[name]}
      placeholder={placeholder}
      error={fieldError(name)}
      {...field(name)}
    />
  ))
}

export function RequestedLimits({ wanted }: { readonly wanted: LimitRequest['wanted'] }) {
  const { limits } = useMessages('shell')
  return limitNames
    .flatMap((name) => {
      const limit = wanted[name]
      return typeof limit === 'number' ? [`${limits[name]}: ${formatNumber(limit)}`] : []
    })
    .join(', ')
}
