import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0012_corrections'),
        ('dialogues', '0003_utterance_action'),
    ]

    operations = [
        migrations.AddField(
            model_name='turn',
            name='utterance',
            field=models.OneToOneField(
                null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='turn', to='dialogues.utterance',
            ),
        ),
        migrations.AlterField(
            model_name='turn',
            name='action',
            field=models.CharField(
                blank=True, choices=[('select', 'Select'), ('revise', 'Revise'), ('rewrite', 'Rewrite')], max_length=7,
            ),
        ),
        migrations.AlterField(
            model_name='turn',
            name='edit_distance',
            field=models.PositiveIntegerField(help_text='Characters, Levenshtein, from the source', null=True),
        ),
        migrations.AlterField(
            model_name='turn',
            name='source',
            field=models.PositiveSmallIntegerField(help_text='Place of the source candidate in its set', null=True),
        ),
    ]
