/** Translates a non-streaming response in the OpenAI format into a response object of the Responses API. */
import { getObjects, getString, type Json } from '../providers/json-fields.ts'
import { parseUsageOf } from '../providers/usage.ts'
import { collectOutput } from './responses-compaction.ts'
import { endingOf, responseHead, responseObject, type ResponsesContext } from './responses-object.ts'

/** Throws an `ApiError` if the response is a compaction without a summary. */
export function translateToResponse(response: Json, context: ResponsesContext): Json {
  const [choice = {}] = getObjects(response, 'choices')
  const ending = endingOf(getString(choice, 'finish_reason'), context)
  const output = collectOutput(choice, context)
  const { request } = context
  const usage = parseUsageOf(response)
  return responseObject(responseHead(response, request), request, { ending, output, usage })
}
