(class_body (field_definition value: [(arrow_function) (function_expression) (generator_function)]) @field)
(class_heritage [(identifier) (member_expression)] @inherit)
