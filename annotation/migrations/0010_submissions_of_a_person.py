from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0009_candidate_order_and_second_model")]

    operations = [
        migrations.AddIndex("submission", models.Index(fields=["annotator", "task"], name="submission_of_person")),
    ]
