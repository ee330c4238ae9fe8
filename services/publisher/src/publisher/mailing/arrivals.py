"""Subscribers of a brand that comes from another installation."""

from collections.abc import Sequence
from datetime import datetime

from chassis import Connection
from publisher.mailing.addresses import address_digest
from publisher.mailing.store import key_of_installation


async def import_subscribers(
    connection: Connection, brand: str, subscribers: Sequence[tuple[str, datetime, datetime]]
) -> int:
    """Stores confirmed subscribers (address, signed up, confirmed) that are not known here; returns how many.

    Nobody gets a letter before a person turns the newsletter on. An address that has left here stays away.
    """
    key = await key_of_installation(connection)
    added = await connection.fetch(
        """
        insert into newsletter_subscribers (brand_slug, address_digest, address, state, signed_up_at, confirmed_at)
        select $1, digest, address, 'confirmed', signed_up_at, confirmed_at
        from unnest($2::bytea[], $3::text[], $4::timestamptz[], $5::timestamptz[])
            as told (digest, address, signed_up_at, confirmed_at)
        on conflict (brand_slug, address_digest) do nothing returning id
        """,
        brand,
        [address_digest(key, brand, address) for address, _, _ in subscribers],
        [address for address, _, _ in subscribers],
        [signed_up_at for _, signed_up_at, _ in subscribers],
        [confirmed_at for _, _, confirmed_at in subscribers],
    )
    return len(added)
