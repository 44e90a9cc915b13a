; Definitions. Name, parameters and body are fields of the captured node.
(function_definition) @function
(class_definition) @class
(decorated_definition) @decorated
(type_alias_statement) @type

; Constants stand at module level, also under a top-level `if` or `try`.
(module (assignment) @constant)
(module (if_statement (block (assignment) @constant)))
(module (if_statement (else_clause (block (assignment) @constant))))
(module (try_statement (block (assignment) @constant)))
(module (try_statement (except_clause (block (assignment) @constant))))

; Calls; a decorator without arguments is called too.
(call function: [(identifier) (attribute)] @call)
(decorator [(identifier) (attribute)] @call)

; Imports
[(import_statement) (import_from_statement) (future_import_statement)] @import

; Inheritance
(class_definition superclasses: (argument_list [(identifier) (attribute)] @inherit))
(class_definition superclasses: (argument_list (subscript value: [(identifier) (attribute)] @inherit)))
