/** Embeddings of Cohere: `POST {base}/embed` (docs.cohere.com, "Embed API (v2)"). */
import { dimensionsOf, textsOf, toEmbeddingList } from '../embeddings.ts'
import { getNumber, getObject, getString } from '../json-fields.ts'
import { modelRequest, type UpstreamCall, type EmbeddingsFormat } from '../provider.ts'

const maxInputs = 96

/** The body of one call, without the model. `input_type` is required; what is searched is what most callers embed. */
export function cohereEmbeddingBody(call: UpstreamCall) {
  return {
    texts: textsOf(call, maxInputs),
    input_type: getString(call.body.parsed(), 'input_type') ?? 'search_document',
    embedding_types: ['float'],
    output_dimension: dimensionsOf(call),
  }
}

export const cohereEmbeddings: EmbeddingsFormat = {
  maxInputs,
  buildRequest(call) {
    const headers = [['authorization', `Bearer ${call.credential}`]] as const
    return modelRequest(call, `${call.baseUrl}/embed`, headers, {
      model: call.model,
      ...cohereEmbeddingBody(call),
    })
  },
  toList(response) {
    const embeddings: unknown = (getObject(response, 'embeddings') ?? {})['float'] ?? response['embeddings']
    const units = getObject(getObject(response, 'meta') ?? {}, 'billed_units')
    const tokens = units && getNumber(units, 'input_tokens')
    return toEmbeddingList(Array.isArray(embeddings) ? embeddings : [], tokens ?? null)
  },
}
