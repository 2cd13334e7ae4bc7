/** Translates a non-streaming response in the OpenAI format into a response object of the Responses API. */
import { getObject, getObjects, getString, type Json } from '../providers/json-fields.ts'
import { parseUsage } from '../providers/usage.ts'
import { endingOf, responseHead, responseObject, type ResponsesContext } from './responses-object.ts'
import { OutputItems } from './responses-output.ts'

export function translateToResponse(response: Json, context: ResponsesContext): Json {
  const [choice = {}] = getObjects(response, 'choices')
  const output: Json[] = []
  const items = new OutputItems(context, {
    onEvent: () => undefined,
    onItem: (index, item) => (output[index] = item),
  })
  const ending = endingOf(getString(choice, 'finish_reason'))
  items.addMessage(getObject(choice, 'message') ?? {})
  items.finish(ending.status === 'completed' ? 'completed' : 'incomplete')
  const { request } = context
  const usage = parseUsage(response['usage'])
  return responseObject(responseHead(response, request), request, { ending, output, usage })
}
