from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("shop", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="StaffRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("refund", "Refund"), ("large_purchase", "Large purchase")], max_length=14
                    ),
                ),
                ("amount", models.PositiveBigIntegerField(help_text="Minor units of the order's currency.")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("approved", "Approved"),
                            ("declined", "Declined"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="pending",
                        max_length=9,
                    ),
                ),
                ("asked_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "order",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="requests", to="shop.order"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "permissions": [("decide_request", "Can approve and decline requests")],
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "pending")), fields=["id"], name="shop_request_pending"
                    )
                ],
                "constraints": [models.UniqueConstraint(fields=("order", "kind"), name="shop_request_once")],
            },
        ),
    ]
