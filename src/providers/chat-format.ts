/**
 * The common format: `POST {base}/chat/completions` with a bearer key. Nothing is translated; the request's bytes are
 * passed on with three changes: the model's name, the question for usage, and a maximum where money requires one.
 */
import type { Call, Outgoing, Provider } from './provider.ts'

/** What tells one provider of the common format from another. */
export interface Preset {
  readonly name: string
  readonly title: string
  readonly baseUrl: string | null
  /** How it names the maximum of output tokens; `max_tokens` when not given. */
  readonly maximumField?: 'max_tokens' | 'max_completion_tokens'
}

function bodyOf(preset: Preset, call: Call): Buffer[] {
  const { model, maximumTokens, settings, withoutStreamOptions } = call
  if (maximumTokens === null) return call.body.spliced({ model, withoutStreamOptions })
  const field = settings.maximumField ?? preset.maximumField ?? 'max_tokens'
  return call.body.spliced({ model, withoutStreamOptions, maximum: { field, tokens: maximumTokens } })
}

function headersOf(call: Call): [string, string][] {
  const headers: [string, string][] = [
    ['content-type', 'application/json'],
    ['accept', call.body.stream ? 'text/event-stream' : 'application/json'],
    ['user-agent', 'sluice'],
  ]
  if (call.credential !== '') headers.push(['authorization', `Bearer ${call.credential}`])
  return headers
}

/** A provider that speaks the common format. */
export function commonProvider(preset: Preset): Provider {
  return {
    name: preset.name,
    title: preset.title,
    baseUrl: preset.baseUrl,
    ask(call: Call): Outgoing {
      return {
        url: `${call.baseUrl}/chat/completions`,
        headers: headersOf(call),
        body: bodyOf(preset, call),
      }
    },
  }
}
