(abstract_class_declaration) @class
(function_signature) @function
(class_body [(method_signature) (abstract_method_signature)] @method)
(interface_body (method_signature) @method)
(class_body (public_field_definition value: [(arrow_function) (function_expression) (generator_function)]) @field)
(interface_declaration) @interface
(type_alias_declaration) @type
(enum_declaration) @enum
[(internal_module) (module)] @namespace

(extends_clause value: [(identifier) (member_expression)] @inherit)
(implements_clause [(type_identifier) (nested_type_identifier)] @inherit)
(implements_clause (generic_type name: (_) @inherit))
(extends_type_clause type: [(type_identifier) (nested_type_identifier)] @inherit)
(extends_type_clause type: (generic_type name: (_) @inherit))
