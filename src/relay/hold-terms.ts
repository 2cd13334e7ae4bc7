/** What a request asks for beside text at the default service tier, as far as its hold depends on it. */
import type { HoldTerms } from '../ledger/cost-bound.ts'
import type { Price } from '../ledger/price.ts'
import type { Modality } from '../providers/usage.ts'
import type { CallerRequest } from './request/caller-format.ts'
import { toolCallsToHold, type ToolCallsToHold } from './request/hosted-tools.ts'
import { serviceTierOf } from './request/restricted-fields.ts'

type TermsRequest = Pick<CallerRequest, 'restricted' | 'embedded' | 'stream' | 'hostedTools' | 'parsed'>

/** `undefined`: nothing, as in nearly all requests. */
export function holdTerms(request: TermsRequest, price: Price): HoldTerms | undefined {
  const { restricted, embedded } = request
  const tier = serviceTierOf(request)
  const modality = hasModalities(price) ? modalitiesOf(restricted, embedded) : []
  const tool = toolCallsToHold(request, price)
  if (tier === undefined && modality.length === 0 && tool === null) return undefined
  return {
    ...(tier === undefined ? {} : { tier }),
    ...(modality.length > 0 ? { modality } : {}),
    ...(tool ? { tool: termsOf(tool) } : {}),
  }
}

function termsOf({ name, calls, tokens }: ToolCallsToHold): HoldTerms['tool'] {
  return { name, calls, ...(tokens ? { tokens } : {}) }
}

function hasModalities({ modality, above }: Price): boolean {
  return modality !== undefined || above?.some((rates) => rates.modality !== undefined) === true
}

/** A model whose images have a price writes them unasked; audio must be asked for. */
function modalitiesOf(
  restricted: TermsRequest['restricted'],
  { images, bytes, imageBytes, hasReferences }: TermsRequest['embedded'],
): Modality[] {
  const kinds: Modality[] = ['outputImage']
  if (images > 0 || hasReferences) kinds.push('inputImage', 'cachedInputImage')
  if (bytes > imageBytes || hasReferences) kinds.push('inputAudio', 'cachedInputAudio')
  if (restricted.some(({ modality }) => modality === 'outputAudio')) kinds.push('outputAudio')
  return kinds
}
