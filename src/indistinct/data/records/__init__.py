"""What a record is: types of columns, domains, units of privacy, and the bounded sum over records."""
