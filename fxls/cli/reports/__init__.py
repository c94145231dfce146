"""What commands print of a value: text, tables, JSON and pages."""
