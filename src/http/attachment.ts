/** A file that browsers save and never open as a page of ours. `name` must need no escaping. */
export function attachment(content: Uint8Array<ArrayBuffer>, name: string, mediaType: string): Response {
  return new Response(content, {
    headers: {
      'content-type': mediaType,
      'content-length': String(content.length),
      'content-disposition': `attachment; filename="${name}"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    },
  })
}
