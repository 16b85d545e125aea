"""Finished runs as plain data. The lab writes records, the report reads them, and neither imports the other."""
