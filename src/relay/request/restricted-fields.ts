/**
 * Finds the fields of a request that leave the relay only under conditions (providers/restricted-fields.ts), wherever
 * engines read them: at the top, in objects such as `options`, in `tools`, and in the header `anthropic-beta`.
 */
import { scanJsonObject, type JsonMember } from '../../lib/json/json-scanner.ts'
import { getNumber, getObject, getString, isObject, type Json } from '../../providers/json-fields.ts'
import type { ImageClass } from '../../providers/image-classes.ts'
import {
  betaFields,
  betaRule,
  containerFields,
  dearerBetas,
  fieldRules,
  foreignMaximum,
  foreignResultCount,
  hostedTool,
  searchTool,
  type FieldRule,
  type Restriction,
} from '../../providers/restricted-fields.ts'
import { parseServiceTier } from '../../providers/usage.ts'
import type { ToolSpan } from './tool-scanner.ts'

/** A restricted field of a request. */
export interface RestrictedField {
  /** The field as a path, such as `options.num_predict` or `tools[0].type`, or the header. */
  readonly param: string
  /** The names of which an upstream's `allowed_fields` may list any. */
  readonly names: readonly string[]
  readonly restriction: Restriction
  /** Upstreams of other providers take the field; absent: none does. */
  readonly providers?: ReadonlySet<string>
  /** Of a search: the maximum of searches per response that the field states. */
  readonly maxSearches?: number
  /** Of `service_tier`: the tier that it asks for, which a price may cover. */
  readonly tier?: string
  /** Of `modalities`: what it asks for, which a price may cover. */
  readonly modality?: 'outputAudio'
  /** Of a tool that the provider runs, in the Responses API: its name in `per_tool_call`, and the image it asks for. */
  readonly tool?: { readonly name: string; readonly image?: ImageClass }
}

/** The service tier that a request asks for, unless it is the default one. */
export function serviceTierOf({
  restricted,
}: {
  readonly restricted: readonly RestrictedField[]
}): string | undefined {
  return restricted.length === 0 ? undefined : restricted.find(({ tier }) => tier !== undefined)?.tier
}

/** What the provider does for the field is charged: by a factor, by a price of its own, or by the search. */
export function isPricedField({ restriction, tier, modality }: RestrictedField): boolean {
  return restriction === 'search' || tier !== undefined || modality !== undefined
}

/** What nearly every request has. */
export const noRestrictedFields: readonly RestrictedField[] = []

/** The members that a format's reader looks at; `null`: those that the relay itself reads. */
export class KnownMembers {
  readonly #rules: ReadonlyMap<string, FieldRule | null>
  /** The length of the longest name. */
  readonly maxLength: number

  /** `others`: rules of the format itself. */
  constructor(readByRelay: Iterable<string>, others: readonly (readonly [string, FieldRule])[] = []) {
    const restricted = [...fieldRules, ...others]
    const nested = [...containerFields, ...betaFields].map((name) => [name, foreignMaximum] as const)
    const read = Array.from(readByRelay, (name) => [name, null] as const)
    this.#rules = new Map([...nested, ...restricted, ...read])
    this.maxLength = Math.max(...Array.from(this.#rules.keys(), (name) => name.length))
  }

  /** `undefined`: the relay does not know the member. */
  get(key: string): FieldRule | null | undefined {
    return this.#rules.get(key)
  }

  has(key: string): boolean {
    return this.#rules.has(key)
  }
}

/** Finds the restricted fields among members for which `KnownMembers` has a rule. Their values are not null. */
export function findRestricted(body: Buffer, members: readonly JsonMember[]): RestrictedField[] {
  return members.flatMap((member) => inMember(body, member, ''))
}

function inMember(body: Buffer, member: JsonMember, path: string): RestrictedField[] {
  const { key, start, end } = member
  const param = path + key
  if (containerFields.has(key)) return inContainer(body.subarray(start, end), param)
  const value: unknown = JSON.parse(body.toString('utf8', start, end))
  if (value === null) return []
  if (betaFields.has(key)) return inBetas(value, param)
  const rule = fieldRules.get(key) ?? (key === ownResultCount ? foreignResultCount : foreignMaximum)
  const restriction = rule.classify ? rule.classify(value) : rule.restriction
  if (restriction === null) return []
  const field = toField(param, [key], { ...rule, restriction })
  if (param === 'modalities') return [{ ...field, modality: 'outputAudio' }]
  const tier = param === 'service_tier' ? parseServiceTier(value) : undefined
  return [tier === undefined ? field : { ...field, tier }]
}

function toField(
  param: string,
  names: readonly string[],
  { restriction, providers }: FieldRule,
): RestrictedField {
  return { param, names: [...new Set([param, ...names])], restriction, ...(providers ? { providers } : {}) }
}

const ownResultCount = 'n'
/** Fields for the maximum of output that are free at the top of a request. */
const ownMaximums = new Set(['max_tokens', 'max_completion_tokens', ownResultCount])

/** The members of an object that engines read like fields, each as often as it occurs. */
function inContainer(text: Buffer, param: string): RestrictedField[] {
  const scan = scanJsonObject(text)
  if (scan.kind === 'other') return []
  // What cannot be read here may be read by the engine.
  if (scan.kind === 'invalid' || scan.members === undefined) return [toField(param, [], foreignMaximum)]
  const isWholeRequest = param.endsWith('extra_body')
  return scan.members.flatMap((member) => {
    const key = knownName(member.key)
    if (key === undefined) return []
    if (isWholeRequest && key === 'tools') return [toField(`${param}.tools`, ['tools'], hostedTool)]
    if (!isWholeRequest && fieldRules.get(key)?.restriction !== 'maximum' && !isNestedMaximum(key)) return []
    return inMember(text, { ...member, key }, `${param}.`)
  })
}

const isNestedMaximum = (key: string): boolean => ownMaximums.has(key) || containerFields.has(key)

const nestedNames = new Map(
  [...fieldRules.keys(), ...containerFields, ...betaFields, ...ownMaximums, 'tools'].map((name) => [
    name.toLowerCase(),
    name,
  ]),
)

/** The name as which some parser may read a key: some ignore case, others stop at U+0000. */
function knownName(key: string): string | undefined {
  const [name = ''] = key.split('\0')
  return nestedNames.get(name.toUpperCase().toLowerCase())
}

/** The tools that the provider runs, of those whose type is not a function. `isFree`: the caller runs this type. */
export function findHostedTools(
  body: Buffer,
  tools: readonly ToolSpan[],
  isFree: (type: string) => boolean,
): RestrictedField[] {
  return tools.flatMap(({ index, start, end }) => {
    const text = body.subarray(start, end)
    const tool: unknown = JSON.parse(text.toString())
    if (!isObject(tool)) return []
    const type = getString(tool, 'type') ?? ''
    if (isFree(type) && hasOneType(text)) return []
    const name = hostedName(tool, type)
    const isSearch = searchNames.has(name)
    const names = [type, name, 'tools'].filter((each) => each !== '')
    const field = toField(`tools[${index}].type`, names, isSearch ? searchTool : hostedTool)
    const maxSearches = isSearch ? getNumber(tool, 'max_uses') : undefined
    return [isCount(maxSearches) ? { ...field, maxSearches } : field]
  })
}

/** All parsers read the same type. */
function hasOneType(tool: Buffer): boolean {
  const scan = scanJsonObject(tool)
  if (scan.kind !== 'object') return false
  return scan.members.filter(({ key }) => knownTypeKey(key)).length === 1
}

const knownTypeKey = (key: string): boolean => key.split('\0')[0]?.toLowerCase() === 'type'

const isCount = (value: number | undefined): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0

/** Anthropic and others, OpenAI, OpenRouter, Moonshot. */
const searchNames = new Set(['web_search', 'web_search_preview', 'openrouter:web_search', '$web_search'])

/** The type without the date of its version; Moonshot names its own functions. */
function hostedName(tool: Json, type: string): string {
  const builtIn = type === 'builtin_function' ? getObject(tool, 'function') : undefined
  return (builtIn && getString(builtIn, 'name')) ?? type.replace(/_\d{8}$/, '')
}

/** The beta features of a header or field that make the request dearer. */
function inBetas(value: unknown, param: string): RestrictedField[] {
  const names = (Array.isArray(value) ? value : [value]).map(String).flatMap((text) => text.split(','))
  return names.flatMap((name) => {
    const beta = name.trim().toLowerCase()
    return dearerBetas.some((dearer) => beta.startsWith(dearer)) ? [toField(param, [beta], betaRule)] : []
  })
}

/** Of the header `anthropic-beta`, which nearly every request of some clients has. */
export function findDearerBetas(header: string | undefined): readonly RestrictedField[] {
  if (header === undefined || !dearerBetas.some((beta) => header.toLowerCase().includes(beta)))
    return noRestrictedFields
  return inBetas(header, 'anthropic-beta')
}
