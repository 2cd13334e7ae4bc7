/**
 * Embeddings of Gemini (`:batchEmbedContents`; ai.google.dev, "Embeddings") and Vertex (`:predict`; cloud.google.com,
 * "Text embeddings API").
 */
import { dimensionsOf, textsOf, toEmbeddingList } from '../embeddings.ts'
import { getNumber, getObject, getObjects, getString, type Json } from '../json-fields.ts'
import { modelRequest, type OutgoingRequest, type UpstreamCall, type EmbeddingsFormat } from '../provider.ts'

const geminiInputs = 100

const taskOf = ({ body }: UpstreamCall): string | undefined => getString(body.parsed(), 'task_type')

/** Gemini states no usage. */
export const geminiEmbeddings: EmbeddingsFormat = {
  maxInputs: geminiInputs,
  buildRequest(call) {
    const { model } = call
    const path = model.includes('/') ? model : `models/${model}`
    const outputDimensionality = dimensionsOf(call)
    const taskType = taskOf(call)
    const requests = textsOf(call, geminiInputs).map((text) => ({
      model: path,
      content: { parts: [{ text }] },
      outputDimensionality,
      taskType,
    }))
    const url = `${call.baseUrl}/${path.split('/').map(encodeURIComponent).join('/')}:batchEmbedContents`
    return modelRequest(call, url, [['x-goog-api-key', call.credential]], { requests })
  },
  toList: (response) =>
    toEmbeddingList(
      getObjects(response, 'embeddings').map(({ values }) => values),
      null,
    ),
}

/** `address`: where the call goes, and with which credential. */
export function vertexEmbeddings(
  maxInputs: number,
  address: (call: UpstreamCall) => { readonly url: string; readonly authHeader: readonly [string, string] },
): EmbeddingsFormat {
  return {
    maxInputs,
    buildRequest(call): OutgoingRequest {
      const { url, authHeader } = address(call)
      const taskType = taskOf(call)
      const instances = textsOf(call, maxInputs).map((content) => ({ content, task_type: taskType }))
      const outputDimensionality = dimensionsOf(call)
      const parameters = outputDimensionality === undefined ? undefined : { outputDimensionality }
      const path = `${url}/models/${encodeURIComponent(call.model)}:predict`
      return modelRequest(call, path, [authHeader], { instances, parameters })
    },
    toList(response) {
      const embeddings = getObjects(response, 'predictions').map(
        (each) => getObject(each, 'embeddings') ?? {},
      )
      return toEmbeddingList(
        embeddings.map(({ values }) => values),
        sumOfTokens(embeddings),
      )
    },
  }
}

/** `null`: one of them is not counted. */
function sumOfTokens(embeddings: readonly Json[]): number | null {
  let sum = 0
  for (const embedding of embeddings) {
    const tokens = getNumber(getObject(embedding, 'statistics') ?? {}, 'token_count')
    if (tokens === undefined) return null
    sum += tokens
  }
  return sum
}
