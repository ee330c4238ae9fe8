"""A refused account is connected again: the operator sees the waiting posts, and they continue."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from chassis.testing import eventually
from envelope.brand.payloads import SocialCreate
from services.social.tests.sending.conftest import KEY, Networks
from services.social.tests.sending.test_sending_posts import posts, told
from tests.fixtures.commands.brandctl import Operator


@pytest.mark.extended
async def test_posts_that_were_parked_go_on_once_their_account_is_connected_again(
    social: Any,
    social_settings: dict[str, Any],
    networks: Networks,
    new_command: Callable[..., SocialCreate],
    tmp_path: Path,
) -> None:
    await networks.connect("mastodon")
    right, networks.mastodon.token = networks.mastodon.token, "withdrawn"
    await social.send(new_command(channels=("mastodon",)))
    assert await told(social, 1) == {"mastodon": "needs_reconnecting"}
    networks.mastodon.token = right
    known = {
        "GATEWAY_URL": social_settings["gateway_url"],
        "SOCIAL_URL": social_settings["public_url"],
        "SERVICE_KEY": KEY,
    }
    brandctl = Operator(tmp_path, known)
    address = ("--brand", "daily-grind", "--url", networks.mastodon.url)
    connected = await brandctl("accounts", "connect", "mastodon", *address, typed=right)
    assert connected.code == 0, connected.told
    assert "1 posts failed while it took none" in connected.told
    assert "brandctl posts retry --account mastodon" in connected.told
    again = await brandctl("posts", "retry", "--account", "mastodon")
    assert again.code == 0, again.told
    assert await told(social, 1) == {"mastodon": f"{networks.mastodon.url}/@acme/1"}
    assert len(networks.mastodon.accepted) == 1
    none = await brandctl("posts", "retry", "--account", "mastodon")
    assert (none.code, "no post failed" in none.told) == (0, True)
    assert (await brandctl("posts", "retry")).code == 2


async def test_what_was_taken_and_never_answered_is_in_doubt_after_the_last_attempt(
    social: Any, networks: Networks, new_command: Callable[..., SocialCreate]
) -> None:
    await networks.connect("webhook")
    networks.webhook.faults.inject("reset_after", "POST /hook", times=None)
    await social.send(new_command(channels=("webhook",)))
    assert await told(social, 1) == {"webhook": "in_doubt"}
    [doubtful] = await posts(social, state="in_doubt")
    # The true reason: it was not slow.
    assert "broke off" in doubtful["detail"]
    assert "took too long" not in doubtful["detail"]
    assert len(networks.webhook.accepted) == 1


@pytest.mark.extended
async def test_a_post_that_was_begun_for_one_user_goes_to_no_other(
    social: Any,
    networks: Networks,
    new_command: Callable[..., SocialCreate],
    social_database: asyncpg.Connection,
) -> None:
    """Through the gateway: a person connects the account as another user while an answer is lost."""
    await networks.connect("mastodon")
    await networks.check("mastodon")
    networks.mastodon.faults.inject("reset_before", "POST /api/v1/statuses")
    await social.send(new_command(channels=("mastodon",)))

    async def is_lost() -> bool:
        return await social_database.fetchval("select state from receipts") == "unknown"

    await eventually(is_lost)
    networks.mastodon.user_id = "2"
    await networks.connect("mastodon")
    await networks.check("mastodon")
    assert await told(social, 1) == {"mastodon": "in_doubt"}
    assert networks.mastodon.accepted == ()
