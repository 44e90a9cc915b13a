; An element is a call of its component; lower-case names are HTML and are dropped later.
(jsx_opening_element name: [(identifier) (member_expression)] @element)
(jsx_self_closing_element name: [(identifier) (member_expression)] @element)
