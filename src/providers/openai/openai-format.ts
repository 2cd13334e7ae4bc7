/**
 * The common format: `POST {base}/chat/completions` with a bearer key. Nothing is translated; the request's bytes are
 * passed on with three changes: the model's name, the question for usage, and a maximum where money requires one.
 */
import { objectIn, textIn } from '../json-fields.ts'
import type { Call, Failure, Outgoing, Provider } from '../provider.ts'
import { isObject } from '../usage.ts'

/** What tells one provider of the common format from another. */
export interface Preset {
  readonly name: string
  readonly title: string
  readonly baseUrl: string | null
  /** How it names the maximum of output tokens; `max_tokens` when not given. */
  readonly maximumField?: 'max_tokens' | 'max_completion_tokens'
  /** Hands out the thinking that others have signed in `reasoning_details`, and takes it back. */
  readonly takesSignedThinking?: boolean
  /** The header that carries the bare key, in place of a bearer's `authorization`. */
  readonly keyHeader?: string
  /** Where it is asked, in place of `{base}/chat/completions`. */
  addressOf?(call: Call): string
  /** Where its list of models is, in place of `{base}/models`; `null`: nowhere. */
  modelsAddressOf?(baseUrl: string): string | null
}

/** Words for an empty account that come as too many or as bad requests: OpenAI's, Moonshot's, Zhipu's, Alibaba's. */
const emptyAccount = new Set([
  'insufficient_quota',
  'billing_hard_limit_reached',
  'exceeded_current_quota_error',
  '1113',
  'Arrearage',
])

function statusOf({ status, body }: Failure): number {
  const error = isObject(body) ? (objectIn(body, 'error') ?? body) : {}
  const words = [textIn(error, 'code'), textIn(error, 'type')]
  const isEmpty = words.some((word) => word !== undefined && emptyAccount.has(word))
  if (isEmpty && (status === 429 || status === 400)) return 402
  // xAI tells a wrong key as a bad request.
  const message = isObject(body) ? textIn(body, 'error') : undefined
  return status === 400 && message?.startsWith('Incorrect API key provided') ? 401 : status
}

function bodyOf(preset: Preset, call: Call): Buffer[] {
  const { model, settings, withoutStreamOptions } = call
  const maximumTokens = call.maximumTokens ?? call.body.unnamedMaximum ?? null
  const takesSignedThinking = preset.takesSignedThinking ?? false
  if (maximumTokens === null) return call.body.spliced({ model, withoutStreamOptions, takesSignedThinking })
  const field = settings.maximumField ?? preset.maximumField ?? 'max_tokens'
  const maximum = { field, tokens: maximumTokens }
  return call.body.spliced({ model, withoutStreamOptions, takesSignedThinking, maximum })
}

function headersOf(preset: Preset, call: Call): [string, string][] {
  return [
    ['content-type', 'application/json'],
    ['accept', call.body.stream ? 'text/event-stream' : 'application/json'],
    ['user-agent', 'sluice'],
    ...proofOf(preset, call.credential),
  ]
}

function proofOf({ keyHeader }: Preset, credential: string): [string, string][] {
  if (credential === '') return []
  return keyHeader === undefined ? [['authorization', `Bearer ${credential}`]] : [[keyHeader, credential]]
}

/** The names in a list as the common format writes it: `{data: [{id}]}`, or the bare array of some. */
export function namesInData(body: unknown): string[] {
  const rows: unknown = isObject(body) ? body['data'] : body
  if (!Array.isArray(rows)) throw new Error('There is no list of models in the answer.')
  return rows.flatMap((row: unknown) => (isObject(row) ? (textIn(row, 'id') ?? []) : []))
}

/** A provider that speaks the common format. */
export function commonProvider(preset: Preset): Provider {
  return {
    name: preset.name,
    title: preset.title,
    baseUrl: preset.baseUrl,
    ask(call: Call): Outgoing {
      return {
        url: preset.addressOf?.(call) ?? `${call.baseUrl}/chat/completions`,
        headers: headersOf(preset, call),
        body: bodyOf(preset, call),
      }
    },
    models({ baseUrl, credential }) {
      const url = preset.modelsAddressOf ? preset.modelsAddressOf(baseUrl) : `${baseUrl}/models`
      if (url === null) return null
      const headers = [
        ['accept', 'application/json'],
        ['user-agent', 'sluice'],
        ...proofOf(preset, credential),
      ] as const
      return { url, headers, namesOf: namesInData }
    },
    statusOf,
  }
}
