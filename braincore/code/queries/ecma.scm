; What JavaScript and TypeScript share.
[(function_declaration) (generator_function_declaration)] @function
(class_declaration) @class
(class_body (method_definition) @method)

(variable_declarator
  name: (identifier)
  value: [(arrow_function) (function_expression) (generator_function)]) @function.variable
(variable_declarator name: (identifier) value: (class)) @class.variable
(export_statement value: [(arrow_function) (function_expression) (generator_function)] @function.default)
(export_statement value: (class) @class.default)
(assignment_expression
  left: (member_expression)
  right: [(arrow_function) (function_expression) (generator_function)]) @function.assigned

(program (lexical_declaration kind: "const" (variable_declarator name: (identifier)) @constant))
(program (export_statement
  (lexical_declaration kind: "const" (variable_declarator name: (identifier)) @constant)))

(call_expression function: [(identifier) (member_expression) (super)] @call)
(new_expression constructor: [(identifier) (member_expression)] @call)
(decorator [(identifier) (member_expression)] @call)

(import_statement) @import
(export_statement source: (string)) @import
(call_expression function: [(identifier) (import)] arguments: (arguments . (string))) @import.call
