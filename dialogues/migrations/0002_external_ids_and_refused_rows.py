import django.db.models.deletion
from django.db import migrations, models

import dialogues.models

NAME_THE_NAMELESS = """
UPDATE dialogues_dialogue SET external_id = gen_random_uuid()::text WHERE external_id IS NULL OR external_id = ''
"""


class Migration(migrations.Migration):

    dependencies = [
        ('dialogues', '0001_initial'),
        ('jobs', '0002_job_language'),
    ]

    operations = [
        migrations.RunSQL(NAME_THE_NAMELESS, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name='dialogue',
            name='external_id',
            field=models.CharField(default=dialogues.models.new_external_id, help_text="Its name outside of this installation: the imported file's, else made here once.", max_length=200),
        ),
        migrations.AddIndex(
            model_name='dialogue',
            index=models.Index(fields=['project', '-id'], name='dialogue_newest'),
        ),
        migrations.CreateModel(
            name='RefusedRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line', models.PositiveIntegerField()),
                ('code', models.CharField(max_length=40)),
                ('params', models.JSONField(default=dict)),
                ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='refused_rows', to='jobs.job')),
            ],
            options={
                'ordering': ['id'],
                'indexes': [models.Index(fields=['job', 'id'], name='refused_row_job')],
            },
        ),
    ]
