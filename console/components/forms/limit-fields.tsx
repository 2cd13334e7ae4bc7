/** The four limits of rates, wherever they are shown or filled in. */
import { useWords } from '../../language.ts'
import { WholeField } from './fields.tsx'

export const limitNames = ['rpm', 'tpm', 'rpd', 'concurrency'] as const
export type LimitName = (typeof limitNames)[number]

export interface LimitFieldsProps {
  readonly placeholder: string
  /** What binds one of them to its field. */
  readonly field: (name: LimitName) => {
    readonly name: string
    readonly value: string
    readonly onChange: (event: { currentTarget: { value: string } }) => void
  }
  /** What the server says against one of them. */
  readonly errorOf: (name: LimitName) => string | undefined
}

export function LimitFields({ placeholder, field, errorOf }: LimitFieldsProps) {
  const { limits } = useWords('shell')
  return limitNames.map((name) => (
    <WholeField
      key={name}
      label={limits[name]}
      placeholder={placeholder}
      error={errorOf(name)}
      {...field(name)}
    />
  ))
}
