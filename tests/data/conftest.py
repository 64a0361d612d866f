import pytest
from written import packed

from salience.errors import InputError


@pytest.fixture
def write(tmp_path):
    """Writes a file into the test's folder, packed if its name says so, and returns its path as a string."""

    def write(name: str, content: str | bytes, encoding: str = "utf-8") -> str:
        content = content.encode(encoding) if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(packed(content, path.suffix))
        return str(path)

    return write


@pytest.fixture
def complaint():
    """What a call says is wrong with its input, having checked that it says so in one line."""

    def complaint(function, *arguments, **options) -> str:
        with pytest.raises(InputError) as caught:
            function(*arguments, **options)
        message = str(caught.value)
        assert len(message.splitlines()) == 1
        return message

    return complaint
