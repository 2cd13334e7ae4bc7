/**
 * The hints that OpenAI's models reject, as far as their names tell (OpenAI, "Reasoning models" and "Using GPT-5").
 * Models without reasoning take no `reasoning_effort`; the o-series and GPT-5 take no sampling parameters. Later models
 * take them at some efforts only.
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
