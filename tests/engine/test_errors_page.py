from tools.errors_page import PAGE, page


def test_the_page_is_made_of_the_classes() -> None:
    assert PAGE.read_text() == page(), "run python -m tools.errors_page"
