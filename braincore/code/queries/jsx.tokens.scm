(jsx_text) @prose
(jsx_attribute (string) @opaque)
