import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("preference", "0014_hub_token"),
    ]

    operations = [
        migrations.AlterField(
            model_name="registeredmodel",
            name="snapshot",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="models",
                to="preference.snapshot",
            ),
        ),
        migrations.AlterField(
            model_name="registeredmodel",
            name="training_run",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="model",
                to="preference.trainingrun",
            ),
        ),
        migrations.AddConstraint(
            model_name="registeredmodel",
            constraint=models.CheckConstraint(
                condition=models.Q(("training_run", None), ("snapshot__isnull", False), _connector="OR"),
                name="model_trained_here_has_snapshot",
            ),
        ),
    ]
