"""Sends each receipt once, although a mail cannot be rolled back and mail servers recognise no copies."""

import asyncio
import smtplib
from email.message import EmailMessage

from envelope import DomainMessage
from messaging import Context, Database, Dependency, Record, RetryLater, Transaction, Unprocessable
from shop.catalogue import SendReceipt

ARM = """insert into receipts (order_id, email, cents) select order_id, email, cents from orders
where order_id = $1 and state = 'paid' on conflict do nothing returning email, cents"""
LOOK = """select confirmed_at, armed_at < now() - interval '2 minutes' as abandoned from receipts
where order_id = $1"""


class ReceiptSender:
    def __init__(self, database: Database, smtp_server: str, mail_server: Dependency) -> None:
        self.database, self.smtp_server, self.mail_server = database, smtp_server, mail_server

    async def send(self, message: DomainMessage[SendReceipt], _: Context) -> Record | None:
        order_id = message.payload.order_id
        async with self.database.connection() as connection:
            # Committed before anything is sent, so that whoever comes after a crash finds it.
            armed = await connection.fetchrow(ARM, order_id)
            earlier = await connection.fetchrow(LOOK, order_id)
        if armed is None and earlier and earlier["confirmed_at"]:
            return None
        if armed is None and earlier and earlier["abandoned"]:
            raise Unprocessable(f"the mail of order {order_id} may have been sent: look into the mail log")
        if armed is None:
            raise RetryLater("another process may be sending it, or the order is not paid")
        try:
            async with self.mail_server.call():
                await asyncio.to_thread(self.mail, armed["email"], f"{armed['cents'] / 100:.2f}, {order_id}")
        except (RetryLater, smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError):
            # Surely not sent. After any other error nobody knows, and the row stays.
            async with self.database.connection() as connection:
                await connection.execute("delete from receipts where order_id = $1", order_id)
            raise

        async def confirm(tx: Transaction) -> None:
            update = "update receipts set confirmed_at = now() where order_id = $1"
            await tx.connection.execute(update, order_id)

        return confirm

    def mail(self, to: str, text: str) -> None:
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = "shop@shop.example", to, f"Receipt: {text}"
        with smtplib.SMTP(self.smtp_server, timeout=20) as server:
            server.send_message(mail)
