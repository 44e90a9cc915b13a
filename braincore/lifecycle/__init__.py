"""Working → consolidated → archived: scores and the moves they cause."""
