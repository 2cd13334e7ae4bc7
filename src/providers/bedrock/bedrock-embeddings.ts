/**
 * Embeddings of models on Amazon Bedrock, by InvokeModel: Amazon's Titan takes one text a call, Cohere's models a list
 * (docs.aws.amazon.com/bedrock, "Inference request parameters", Titan Embeddings and Cohere Embed).
 */
import { cohereEmbeddingBody, cohereEmbeddings } from '../cohere/cohere-embeddings.ts'
import { dimensionsOf, textsOf, toEmbeddingList } from '../embeddings.ts'
import { getNumber, type Json } from '../json-fields.ts'
import type { EmbeddingsFormat, OutgoingRequest, UpstreamCall } from '../provider.ts'

/** Builds the signed request of an `invoke` call. */
type Invoke = (call: UpstreamCall, body: Json) => OutgoingRequest

function titan(invoke: Invoke): EmbeddingsFormat {
  return {
    maxInputs: 1,
    buildRequest: (call) => invoke(call, { inputText: textsOf(call, 1)[0], dimensions: dimensionsOf(call) }),
    toList: (response) =>
      toEmbeddingList([response['embedding']], getNumber(response, 'inputTextTokenCount') ?? null),
  }
}

function cohere(invoke: Invoke): EmbeddingsFormat {
  return { ...cohereEmbeddings, buildRequest: (call) => invoke(call, cohereEmbeddingBody(call)) }
}

/** `undefined`: the model makes no embeddings that are known here. */
export function bedrockEmbeddings(model: string, invoke: Invoke): EmbeddingsFormat | undefined {
  if (/\btitan-embed-text/.test(model)) return titan(invoke)
  return /\bcohere\.embed-/.test(model) ? cohere(invoke) : undefined
}
