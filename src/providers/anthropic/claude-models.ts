/** What Claude models can do by their generation, wherever they are served. */

/** Models up to 4.5 take a thinking budget and continue a message of the assistant; later ones do neither. */
const earlierModels = /claude-(?:instant|v?2|3|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?!\d|-[6-9](?!\d)))/

export function isClaude(model: string): boolean {
  return model.includes('claude')
}

/** Takes a budget of tokens for its thinking; other models decide by themselves (Anthropic, "Adaptive thinking"). */
export function takesThinkingBudget(model: string): boolean {
  return earlierModels.test(model)
}

/** Continues a message of the assistant at the end (Anthropic, "Migration guide"). So does what is not Claude. */
export function takesPrefill(model: string): boolean {
  return !isClaude(model) || earlierModels.test(model)
}
