(template_string (template_substitution)) @opaque
(regex) @opaque
