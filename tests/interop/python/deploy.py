"""Persons who answer the questions of the example `deploy` differently."""

import mcp_types as types
from mcp.shared.exceptions import MCPError


class Person:
    """Answers questions of the example `deploy`, and stands for its model."""

    def __init__(self, action, approve=False):
        self.action = action
        self.approve = approve
        self.asked = []
        self.summed_up = []

    async def elicit(self, context, params):
        self.asked.append(params)
        content = {"approve": self.approve, "target": "production", "instances": 3, "note": "on a Friday"}
        return types.ElicitResult(action=self.action, content=content if self.action == "accept" else None)

    async def sample(self, context, params):
        self.summed_up.append(params)
        text = types.TextContent(type="text", text="All is well.")
        return types.CreateMessageResult(role="assistant", content=text, model="none", stop_reason="endTurn")


DONE = "v1 is on Production, 3 instances (on a Friday)"


async def deploys(person, session):
    result = await session.client.call_tool("deploy", {"service": "shop"})
    assert not result.is_error and result.content[0].text == "All is well.", result
    (question,) = person.asked
    assert question.message == "Deploy shop? build shop v1, test shop v1, start shop v1", question
    properties = question.requested_schema["properties"]
    assert set(properties) == {"approve", "target", "instances", "note"}, properties
    (prompt,) = person.summed_up
    assert DONE in str(prompt.messages) and prompt.max_tokens == 200, prompt


async def deploys_without_a_model(person, session):
    result = await session.client.call_tool("deploy", {"service": "shop"})
    assert not result.is_error and result.content[0].text == DONE, result


async def does_not_deploy(person, session):
    result = await session.client.call_tool("deploy", {"service": "shop"})
    assert result.is_error and len(person.asked) == 1 and not person.summed_up, (result, person.asked)
    if person.action == "accept":
        assert "not approved" in result.content[0].text, result


async def deploys_at_the_word_of_the_model(person, session):
    result = await session.client.call_tool("deploy", {"service": "shop", "approved": True})
    assert not result.is_error and result.content[0].text == "All is well.", result
    (prompt,) = person.summed_up
    assert "v1 is on Staging, 2 instances (as the model says)" in str(prompt.messages), prompt


async def says_that_it_cannot_ask(person, session):
    try:
        result = await session.client.call_tool("deploy", {"service": "shop"})
        assert result.is_error and "elicit" in result.content[0].text, result
    except MCPError as error:
        assert session.is_modern and error.error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY, error
        assert "elicitation" in error.error.data["requiredCapabilities"], error


def scenes():
    """Names, checks, who is there to answer, and whether they are a person, a model."""
    return [
        ("approved", deploys, Person("accept", True), True, True),
        ("approved_without_a_model", deploys_without_a_model, Person("accept", True), True, False),
        ("not_approved", does_not_deploy, Person("accept"), True, True),
        ("declined", does_not_deploy, Person("decline"), True, True),
        ("cancelled", does_not_deploy, Person("cancel"), True, True),
        ("approved_before", deploys_at_the_word_of_the_model, Person("none"), False, True),
        ("cannot_be_asked", says_that_it_cannot_ask, None, False, False),
    ]
