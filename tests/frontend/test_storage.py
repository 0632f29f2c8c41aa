"""What production serves of our scripts."""

from frontend.storage import without_jsdoc

SOURCE = """/**
 * What it is.
 * @param {string} name
 */
export const greet = (/** @type {import("./names.js").Name} */ name) =>
  "Hello " + name;
"""


def test_jsdoc_leaves_and_line_numbers_stay() -> None:
    stripped = without_jsdoc(SOURCE)
    assert "@param" not in stripped
    assert "import(" not in stripped
    assert stripped.splitlines()[4:] == ["export const greet = ( name) =>", '  "Hello " + name;']
