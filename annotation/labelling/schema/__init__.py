"""The list of questions that people answer about a dialogue: reading, checking and answering it. Imports no models.

A schema is data (`content`, JSON); people write it as YAML. frontend/static/js/labelling/schema_rules.js applies
the same rules in the browser.
"""
