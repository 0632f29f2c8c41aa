"""A sample keeps what was wanted of it when it was drawn; those that are drawn already: what their plan wants now."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

PERCENTS = {"overall_percent": 92, "class_percent": 90}


def from_plans(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    samples = apps.get_model("annotation", "Sample").objects
    for project, *percents in apps.get_model("annotation", "BatchPlan").objects.values_list("project", *PERCENTS):
        samples.filter(round__project=project).update(**dict(zip(PERCENTS, percents, strict=True)))


class Migration(migrations.Migration):
    dependencies = [("annotation", "0007_batches")]

    operations = [
        *(
            migrations.AddField(
                "sample", name, models.DecimalField(max_digits=5, decimal_places=2, default=value), preserve_default=False
            )
            for name, value in PERCENTS.items()
        ),
        migrations.RunPython(from_plans, migrations.RunPython.noop),
    ]
