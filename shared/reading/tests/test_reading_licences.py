"""Names of licences, and those that let articles print a text."""

import pytest

from reading.licences import is_free, licence_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CC0 1.0 Universal\n\nmore text", "CC0 1.0 Universal"),
        (
            (
                "<!DOCTYPE html>\n<html><head><style>p{}</style><title>Legal</title></head>"
                "<body><h1>License</h1><p>This work is licensed under CC BY-SA 4.0.</p></body></html>"
            ),
            "CC BY-SA 4.0",
        ),
        (
            "Copyright (c) 2019 Jane\n\nPermission is hereby granted, free of charge, to any person",
            "MIT License",
        ),
        (
            "                    GNU GENERAL PUBLIC LICENSE\n                       Version 3, 29 June",
            "GNU GPL 3",
        ),
        ("Attribution-ShareAlike 4.0 International\n\n=====", "CC BY-SA 4.0"),
        ("The Coffee Licence, version 2\n\nDo as you like.", "The Coffee Licence, version 2"),
        ("<html><head><title>Start</title></head><body><p>Hello!</p></body></html>", None),
        ("Hello!\n\nNothing is said here.", None),
        ("", None),
    ],
)
def test_a_licence_is_called_by_its_name(text: str, name: str | None) -> None:
    assert licence_name(text) == name


@pytest.mark.parametrize(
    ("licence", "free"),
    [
        ("https://creativecommons.org/licenses/by/4.0/", True),
        ("http://creativecommons.org/licenses/by-sa/3.0/deed.de", True),
        ("https://creativecommons.org/publicdomain/zero/1.0/", True),
        ("https://creativecommons.org/licenses/by-nc/4.0/", False),
        ("https://creativecommons.org/licenses/by-nd/4.0/", False),
        ("CC BY-SA 4.0", True),
        ("CC-BY-4.0", True),
        ("CC BY-NC-SA 4.0", False),
        ("Creative Commons Attribution 4.0", True),
        ("Creative Commons Attribution-NonCommercial 4.0", False),
        ("MIT", True),
        ("This work is dedicated to the public domain.", True),
        ("PostgreSQL License", True),
        ("© 2024 Example. All rights reserved.", False),
        ("https://example.org/licence", False),
        ("https://evil.example/creativecommons.org/licenses/by/4.0/", False),
        (None, False),
    ],
)
def test_only_licences_that_let_everybody_print_a_text_are_free(licence: str | None, free: bool) -> None:
    assert is_free(licence) is free
