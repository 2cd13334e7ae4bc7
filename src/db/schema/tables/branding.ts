/** How the operator presents the service, owned by branding/. null: not set. */
export interface BrandingTable {
  /** `branding`: there is one row. */
  id: string
  name: string | null
  /** JSON: {mediaType, width, height, hash, data}; `data` is base64. */
  logo: string | null
  /** JSON: {light, dark}, each `#rrggbb`. */
  colors: string | null
  /** JSON: a list of {label, url}. */
  links: string | null
  /** An https URL, otherwise the text itself; likewise the next. */
  terms: string | null
  privacy: string | null
  /** JSON: {contact, text}. */
  support: string | null
}
