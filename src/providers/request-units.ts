/** What a request used beside text tokens, as its row stores it and the API shows it. */
import { callsByTool } from './image-classes.ts'
import { modalityNames, type Modality, type TokenUsage } from './usage.ts'

export interface RequestUnits {
  /** Calls of tools that the provider ran, by name; stored by class (image-classes.ts). */
  readonly tool_calls?: Readonly<Record<string, number>>
  readonly [tokens: `${string}_tokens`]: number
}

const columnOf = (name: Modality): `${string}_tokens` =>
  `${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_tokens`

/** JSON; `null`: nothing. */
export function unitsJson({ modality, toolCalls }: TokenUsage): string | null {
  if (!modality && !toolCalls) return null
  const tokens = modalityNames.flatMap((name) => (modality?.[name] ? [[columnOf(name), modality[name]]] : []))
  return JSON.stringify({ ...Object.fromEntries(tokens), ...(toolCalls ? { tool_calls: toolCalls } : {}) })
}

/** As the API shows them: calls of a tool are counted over all of its classes. */
export function parseUnits(json: string | null): RequestUnits {
  const units = storedUnits(json)
  return units.tool_calls ? { ...units, tool_calls: callsByTool(units.tool_calls) } : units
}

function storedUnits(json: string | null): RequestUnits {
  return json === null ? {} : (JSON.parse(json) as RequestUnits)
}

/** The part of a usage that `unitsJson` has stored. */
export function usageOfUnits(json: string | null): Pick<TokenUsage, 'modality' | 'toolCalls'> {
  if (json === null) return {}
  const units = storedUnits(json)
  const tokens = modalityNames.flatMap((name) => {
    const count = units[columnOf(name)]
    return count === undefined ? [] : [[name, count] as const]
  })
  return {
    ...(tokens.length > 0 ? { modality: Object.fromEntries(tokens) } : {}),
    ...(units.tool_calls ? { toolCalls: units.tool_calls } : {}),
  }
}
