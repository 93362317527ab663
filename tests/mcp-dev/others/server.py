"""A server of FastMCP with something of each kind."""

from fastmcp import FastMCP

mcp = FastMCP("cellar")


@mcp.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@mcp.prompt
def poem(theme: str) -> str:
    """Writes a poem."""
    return f"Write a poem about {theme}."


@mcp.resource("cellar://wine")
def wine() -> str:
    """The wine."""
    return "a good year"


@mcp.resource("cellar://{shelf}/count")
def count(shelf: str) -> str:
    """Bottles on a shelf."""
    return f"{shelf}: 12"


@mcp.completion
def complete(ref, argument, context):
    return [theme for theme in ["nature", "love", "longing"] if theme.startswith(argument.value)]


mcp.run(show_banner=False)
