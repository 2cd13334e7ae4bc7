/**
 * What follows from the names of OpenAI's models: the hints that they reject (OpenAI, "Reasoning models" and "Using GPT-5"), and
 * whether chat completions have them. Models without reasoning take no `reasoning_effort`; the o-series and GPT-5 take no
 * sampling parameters. Later models take them at some efforts only.
 */

const none: readonly string[] = []

const table: readonly { readonly models: RegExp; readonly rejects: readonly string[] }[] = [
  { models: /^(?:chatgpt-|gpt-(?:3\.5|4(?![0-9])|5-chat))/, rejects: ['reasoning'] },
  { models: /^(?:o[1-9]|gpt-5)(?:-|$)/, rejects: ['temperature', 'top_p'] },
]

/** `model`: the upstream's name; other vendors' models reject nothing that is known. */
export function hintsRejectedBy(model: string): readonly string[] {
  const name = model.startsWith('openai/') ? model.slice('openai/'.length) : model
  return table.find(({ models }) => models.test(name))?.rejects ?? none
}

/**
 * Models that only the Responses API serves: those of OpenAI's libraries that are no `ChatModel` (openai-node,
 * `AllModels`), and the Codex and Pro models of GPT-5, which chat completions reject with 404 whatever that list says.
 */
const responsesOnly =
  /^(?:o\d-pro|o\d(?:-mini)?-deep-research|computer-use-preview|codex-mini|gpt-5(?:\.\d+)?-(?:codex|pro|cyber)|gpt-daybreak)(?:-|$)/

/** `model`: the upstream's name, without a vendor: gateways that name vendors translate themselves. */
export function isResponsesOnly(model: string): boolean {
  return responsesOnly.test(model)
}
